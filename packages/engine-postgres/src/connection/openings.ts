import type { PostgresClient } from './postgres-pool.ts'
import type { Statement } from './sql.ts'

/** A statement whose values are whole numbers and lists of them, as it can stand in a text with others. */
export interface OpeningStatement {
  readonly statement: Statement
  readonly values: readonly (number | readonly number[])[]
}

/** What goes with BEGIN, in one message. */
export interface Opening {
  /** Statements without an answer, separated by semicolons. */
  readonly script: string
  readonly statements: readonly OpeningStatement[]
}

export const NO_OPENING: Opening = { script: '', statements: [] }

/**
 * Texts of openings. A statement is prepared once for each connection, because its plan takes longer than a round trip to
 * a server that is near. Not behind a pooler, which knows nothing of statements that are prepared in a text.
 */
export class Openings {
  readonly #prepared = new WeakMap<PostgresClient, Set<string>>()
  /** Nobody knows which statements are prepared there. */
  readonly #uncertain = new WeakSet<PostgresClient>()
  #isGivenUp = false
  #isUsed = false

  /** The text, and what to call with whether it succeeded. */
  begin(
    client: PostgresClient,
    { script, statements }: Opening,
    { isDirect }: { readonly isDirect: boolean },
  ): { readonly text: string; ended(succeeded: boolean): void } {
    const texts = script === '' ? [] : [script]
    const prepares = isDirect && !this.#isGivenUp && !this.#uncertain.has(client)
    if (!prepares || statements.length === 0) {
      return { text: [...texts, ...statements.map(inline)].join('; '), ended: () => {} }
    }
    const known = this.#prepared.get(client) ?? new Set()
    const made: string[] = []
    const runs: string[] = []
    for (const { statement, values } of statements) {
      const name = `${statement.name}_opening`
      if (!known.has(name)) {
        texts.push(`PREPARE ${name} AS ${statement.text}`)
        made.push(name)
      }
      runs.push(`EXECUTE ${name}${list(values)}`)
    }
    this.#isUsed = true
    const ended = (succeeded: boolean): void => {
      if (made.length === 0) return
      if (succeeded) this.#prepared.set(client, new Set([...known, ...made]))
      else this.#uncertain.add(client)
    }
    return { text: [...texts, ...runs].join('; '), ended }
  }

  /** After a failure with a lost statement. False when these here cannot be its cause. */
  giveUp(): boolean {
    const wasUsed = this.#isUsed
    this.#isGivenUp = true
    this.#isUsed = false
    return wasUsed
  }
}

function inline({ statement, values }: OpeningStatement): string {
  return statement.text.replaceAll(/\$(\d+)/g, (_, place: string) =>
    literal(values[Number(place) - 1] ?? Number.NaN),
  )
}

function list(values: OpeningStatement['values']): string {
  return values.length === 0 ? '' : `(${values.map(literal).join(', ')})`
}

function literal(value: number | readonly number[]): string {
  const numbers = typeof value === 'number' ? [value] : value
  if (!numbers.every(Number.isSafeInteger)) throw new RangeError(`not whole: ${String(value)}`)
  return typeof value === 'number' ? String(value) : `'{${value.join(',')}}'`
}
