import { murmur3x86 } from '@tidemark/contracts/internal'
import type { Dialect } from '../dialect/dialect.ts'
import type { Statement } from './sql.ts'

/**
 * Creates the statements of one store. In their texts, `:schema` is the store's schema. `:now` is the store's clock in
 * the server, epoch ms, or 0 where processes have their own clocks. `:server_now`, `:timeline`, `:unlogged` and
 * `:planner` come from `Dialect`.
 */
export class Statements {
  readonly schema: string
  /** Whether the store notices that the server lost commits. */
  readonly noticesLoss: boolean
  readonly #replacements: ReadonlyMap<string, string>
  readonly #made = new Map<string, Statement>()

  constructor(
    schema: string,
    { dialect, clock }: { readonly dialect: Dialect; readonly clock: 'server' | 'own' },
  ) {
    this.schema = schema
    this.noticesLoss = dialect.unlogged !== ''
    this.#replacements = new Map([
      ['schema', quoteIdentifier(schema)],
      ['now', clock === 'own' ? '0::bigint' : dialect.nowMs],
      ['server_now', dialect.nowMs],
      ['timeline', dialect.timeline],
      ['unlogged', dialect.unlogged],
      ['planner', dialect.planner],
    ])
  }

  /** Named by its text, so that processes that share connections through a pooler use the same names. */
  of(template: string): Statement {
    const known = this.#made.get(template)
    if (known !== undefined) return known
    const text = this.fill(template)
    const hash = murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')
    const statement = { name: `tidemark_${hash}_${text.length}`, text }
    this.#made.set(template, statement)
    return statement
  }

  /** A text that is complete except for its values. */
  fill(template: string): string {
    return template.replaceAll(
      /(?<!:):(schema|now|server_now|timeline|unlogged|planner)\b/g,
      (_, name: string) => this.#replacements.get(name) ?? '',
    )
  }
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
