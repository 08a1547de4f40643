import type { EntityPlace } from '@tidemark/store/messages'
import { integerArray } from '../connection/binary-array.ts'
import type { Sql, SqlRow, SqlValue } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'
import type { DueStart, EntityHints, ReadyFound, ReadyStart } from './entity-hints.ts'
import type { FirstAnswers } from './first-requests.ts'

/** Where a transaction of messages takes its rows from. */
export interface MessageSqlParts {
  readonly sql: Sql
  readonly statements: Statements
  /** Number of the database. */
  readonly database: number
  /** The slot of `entity_size` that no other transaction of this process uses meanwhile. */
  readonly slot: number
  /** What went with BEGIN. */
  readonly first: FirstAnswers
  readonly hints: EntityHints
  /** For hints: what the store's clock shows, about. */
  readonly nowMs: number
}

const REMOVE = `WITH bodies AS (DELETE FROM :schema.message_body WHERE id = ANY(?::bigint[]))
DELETE FROM :schema.message WHERE id = ANY(?::bigint[])`

/** The statements of one transaction. Short ones without an answer wait for the COMMIT, and go with it. */
export class MessageSql {
  readonly database: number
  readonly #parts: MessageSqlParts
  readonly #next = new Map<number, number>()
  readonly #bytes = new Map<number, number>()
  readonly #touches = new Map<number, number>()
  readonly #knownBytes = new Map<number, number>()
  readonly #returned = new Map<number, number>()
  readonly #found: ReadyFound[] = []
  readonly #nextSeen = new Map<number, number>()
  #removed: number[] = []
  #first: FirstAnswers | undefined
  #clock: { readonly storeMs: number; readonly lockMs: number } | undefined

  constructor(parts: MessageSqlParts) {
    this.#parts = parts
    this.database = parts.database
    this.#first = parts.first
  }

  async rows(template: string, values: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    const { sql, statements } = this.#parts
    if (this.#removed.length > 0) {
      const removed = integerArray(this.#removed.splice(0))
      await sql.rows(statements.of(REMOVE.replaceAll('?', '$1')), [removed])
    }
    return sql.rows(statements.of(template), values)
  }

  /** The rows of `readPlace`, if that went with BEGIN. */
  firstPlace(
    entity: number,
    hold: boolean,
  ): { readonly row: SqlRow | undefined; readonly due: DueStart } | undefined {
    const first = this.#first
    if (first?.place?.entity !== entity || first.place.hold !== hold) return undefined
    this.#first = { ...first, place: undefined }
    return { row: first.placeRow, due: first.due }
  }

  dueOf(entity: number): DueStart {
    return this.#parts.hints.dueOf(entity, this.#parts.nowMs)
  }

  sawPlace(place: EntityPlace, due: Parameters<EntityHints['sawDue']>[1]): void {
    this.#parts.hints.sawDue(place, due)
    this.#nextSeen.set(place.record.number, place.next)
  }

  monotonicMs(): number {
    return this.#parts.hints.monotonicMs()
  }

  readyStart(entity: number): ReadyStart {
    return this.#parts.hints.startOf(entity)
  }

  mustLookAgain(entity: number): boolean {
    return this.#parts.hints.mustLookAgain(entity)
  }

  /** `from`: undefined when nothing was found, and nothing is below what is sent from now on. */
  foundReady(found: Omit<ReadyFound, 'from'> & { readonly from: number | undefined }): void {
    const from = found.from ?? this.#nextSeen.get(found.entity) ?? 0
    this.#found.push({ ...found, from })
  }

  /** A message that can be taken again, or was moved here. */
  returns(entity: number, number: number): void {
    this.#returned.set(entity, Math.min(number, this.#returned.get(entity) ?? number))
  }

  /** Entities with the lowest number that came back. */
  get returned(): ReadonlyMap<number, number> {
    return this.#returned
  }

  committed(): void {
    const { hints } = this.#parts
    for (const [entity, number] of this.#returned) hints.returned(entity, number)
    for (const found of this.#found) hints.found(found)
  }

  failed(): void {
    // Each entity that it took from was seen.
    for (const entity of this.#nextSeen.keys()) this.#parts.hints.failed(entity)
  }

  /** The rows of `rowsById`, if that went with BEGIN. */
  firstRows(ids: readonly number[]): readonly SqlRow[] | undefined {
    const first = this.#first
    const asked = first?.rows
    if (asked?.length !== ids.length || !asked.every((id, at) => id === ids[at])) return undefined
    this.#first = undefined
    return first?.messageRows
  }

  remove(ids: readonly number[]): void {
    this.#removed.push(...ids)
  }

  noteBytes(entity: number, bytes: number): void {
    this.#knownBytes.set(entity, bytes)
  }

  /** What the entity held when this transaction held it. */
  knownBytes(entity: number): number | undefined {
    return this.#knownBytes.get(entity)
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
    if (this.#removed.length > 0) {
      const ids = `'{${this.#removed.map(integer).join(',')}}'`
      texts.push(REMOVE.replaceAll('?', ids))
    }
    for (const [entity, next] of inOrder(this.#next)) {
      texts.push(
        `UPDATE :schema.entity_counter SET next = ${next}, timeline = :timeline WHERE number = ${entity}`,
      )
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
