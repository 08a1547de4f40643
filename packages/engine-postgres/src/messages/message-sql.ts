import type { Sql, SqlRow, SqlValue } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'

/** Where a transaction of messages takes its rows from. */
export interface MessageSqlParts {
  readonly sql: Sql
  readonly statements: Statements
  /** Number of the database. */
  readonly database: number
  /** The slot of `entity_size` that no other transaction of this process uses meanwhile. */
  readonly slot: number
}

/** The statements of one transaction. Short ones without an answer wait for the COMMIT, and go with it. */
export class MessageSql {
  readonly database: number
  readonly #parts: MessageSqlParts
  readonly #next = new Map<number, number>()
  readonly #bytes = new Map<number, number>()
  readonly #touches = new Map<number, number>()
  #clock: { readonly storeMs: number; readonly lockMs: number } | undefined

  constructor(parts: MessageSqlParts) {
    this.#parts = parts
    this.database = parts.database
  }

  rows(template: string, values: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    const { sql, statements } = this.#parts
    return sql.rows(statements.of(template), values)
  }

  setNext(entity: number, next: number): void {
    this.#next.set(entity, next)
  }

  /** The counter as this transaction has set it. */
  nextOf(entity: number): number | undefined {
    return this.#next.get(entity)
  }

  addBytes(entity: number, bytes: number): void {
    this.#bytes.set(entity, this.bytesOf(entity) + bytes)
  }

  /** What this transaction has added. */
  bytesOf(entity: number): number {
    return this.#bytes.get(entity) ?? 0
  }

  touch(entity: number, lockMs: number): void {
    this.#touches.set(entity, Math.max(lockMs, this.#touches.get(entity) ?? 0))
  }

  storeClock(pair: { readonly storeMs: number; readonly lockMs: number }): void {
    this.#clock = pair
  }

  /** The statements that go with COMMIT. Entities in the order of their numbers, which is the order of locks. */
  closing(): string {
    const { statements, slot, database } = this.#parts
    const texts: string[] = []
    for (const [entity, next] of inOrder(this.#next)) {
      texts.push(`UPDATE :schema.entity_counter SET next = ${next} WHERE number = ${entity}`)
    }
    for (const [entity, lockMs] of inOrder(this.#touches)) {
      texts.push(
        `UPDATE :schema.entity_access SET accessed = ${lockMs} WHERE number = ${entity} AND accessed < ${lockMs}`,
      )
    }
    for (const [entity, bytes] of inOrder(this.#bytes)) {
      if (bytes === 0) continue
      // Not for an entity that was dropped meanwhile: nobody would remove it.
      texts.push(`INSERT INTO :schema.entity_size AS z (entity, slot, bytes)
        SELECT c.number, ${slot}, ${bytes} FROM :schema.entity_counter c WHERE c.number = ${entity}
        ON CONFLICT (entity, slot) DO UPDATE SET bytes = z.bytes + excluded.bytes`)
    }
    if (this.#clock !== undefined) {
      const { storeMs, lockMs } = whole(this.#clock)
      // Whoever has the row now stores a clock too.
      texts.push(`UPDATE :schema.message_clock SET store_ms = ${storeMs}, lock_ms = ${lockMs}
        WHERE db = (SELECT db FROM :schema.message_clock WHERE db = ${database} AND lock_ms <= ${lockMs}
          FOR NO KEY UPDATE SKIP LOCKED)`)
    }
    return statements.fill(texts.join('; '))
  }
}

function whole({ storeMs, lockMs }: { readonly storeMs: number; readonly lockMs: number }): {
  readonly storeMs: number
  readonly lockMs: number
} {
  return { storeMs: integer(storeMs), lockMs: integer(lockMs) }
}

function inOrder(values: ReadonlyMap<number, number>): (readonly [number, number])[] {
  return [...values]
    .map(([entity, value]) => [integer(entity), integer(value)] as const)
    .toSorted(([a], [b]) => a - b)
}

/** These values become text of statements. */
function integer(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a whole number: ${value}`)
  return value
}
