import { murmur3x86 } from '@tidemark/contracts'
import type { Dialect } from '../dialect/dialect.ts'
import type { Statement } from './sql.ts'

/**
 * Makes statements of one store. In their texts `:schema` stands for the store's schema; `:now` for the
 * store's clock as far as the server knows it, epoch ms: 0 where processes have clocks of their own;
 * `:server_now`, `:timeline` and `:planner` for what `Dialect` says.
 */
export class Statements {
  readonly schema: string
  readonly #replacements: ReadonlyMap<string, string>
  readonly #made = new Map<string, Statement>()

  constructor(
    schema: string,
    { dialect, clock }: { readonly dialect: Dialect; readonly clock: 'server' | 'own' },
  ) {
    this.schema = schema
    this.#replacements = new Map([
      ['schema', quoteIdentifier(schema)],
      ['now', clock === 'own' ? '0::bigint' : dialect.nowMs],
      ['server_now', dialect.nowMs],
      ['timeline', dialect.timeline],
      ['planner', dialect.planner],
    ])
  }

  /** Named by its text, so that processes that share connections through a pooler agree on names. */
  of(template: string): Statement {
    const known = this.#made.get(template)
    if (known !== undefined) return known
    const text = this.fill(template)
    const hash = murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')
    const statement = { name: `tidemark_${hash}_${text.length}`, text }
    this.#made.set(template, statement)
    return statement
  }

  /** A text with everything but its values in place. */
  fill(template: string): string {
    return template.replaceAll(
      /(?<!:):(schema|now|server_now|timeline|planner)\b/g,
      (_, name: string) => this.#replacements.get(name) ?? '',
    )
  }
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
