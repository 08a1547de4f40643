import type { SqlText } from '@tidemark/store/messages'
import { parseAction, parseFilter } from './parse-sql.ts'
import type { ActionStep, Expression } from './expression.ts'

/** Texts that are kept parsed. Each has at most 1024 characters, and parameters. */
const MAX_KEPT = 10_000

/** Parses a text once, as long as it is among the last that were asked for. */
class ParsedTexts<Parsed> {
  readonly #parse: (sql: SqlText) => Parsed
  readonly #kept = new Map<string, Parsed>()

  constructor(parse: (sql: SqlText) => Parsed) {
    this.#parse = parse
  }

  get(sql: SqlText): Parsed {
    const { expression, parameters } = sql
    const key =
      parameters === undefined ? expression : `${expression}\n${JSON.stringify(parameters)}`
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const parsed = this.#parse(sql)
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear()
    this.#kept.set(key, parsed)
    return parsed
  }
}

/** Filters and actions of a broker, each parsed once. */
export class ParsedRules {
  readonly #filters = new ParsedTexts(parseFilter)
  readonly #actions = new ParsedTexts(parseAction)

  filter(sql: SqlText): Expression {
    return this.#filters.get(sql)
  }

  action(sql: SqlText): readonly ActionStep[] {
    return this.#actions.get(sql)
  }
}
