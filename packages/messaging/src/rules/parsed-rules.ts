import { parseAction, parseFilter } from './parse-sql.ts'
import type { ActionStep, Expression } from './expression.ts'

/** Texts that are kept parsed. Each has at most 1024 characters. */
const MAX_KEPT = 10_000

/** Parses a text once, as long as it is among the last that were asked for. */
class ParsedTexts<Parsed> {
  readonly #parse: (sql: string) => Parsed
  readonly #kept = new Map<string, Parsed>()

  constructor(parse: (sql: string) => Parsed) {
    this.#parse = parse
  }

  get(sql: string): Parsed {
    const known = this.#kept.get(sql)
    if (known !== undefined) return known
    const parsed = this.#parse(sql)
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear()
    this.#kept.set(sql, parsed)
    return parsed
  }
}

/** Filters and actions of a broker, each parsed once. */
export class ParsedRules {
  readonly #filters = new ParsedTexts(parseFilter)
  readonly #actions = new ParsedTexts(parseAction)

  filter(sql: string): Expression {
    return this.#filters.get(sql)
  }

  action(sql: string): readonly ActionStep[] {
    return this.#actions.get(sql)
  }
}
