import type { EntityRecord } from '../entities.ts'
import { ask, type EntityPlace, type Procedure, type SessionRow } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'

/**
 * What one command has in its hands until its transaction ends: counters, sessions, and sums that are written last. Locks
 * are taken in this order: sessions by name, message rows, counters by number. So `hold` comes after the last request for
 * rows, except for those that skip what another transaction has.
 */
export class Work {
  readonly time: MessageTime
  readonly #counters = new Map<number, { readonly place: EntityPlace; next: number }>()
  readonly #sessions = new Map<string, { row: SessionRow; isNew: boolean }>()
  readonly #bytes = new Map<number, number>()
  readonly #deadLetterQueues = new Map<number, number | undefined>()
  readonly #touched = new Set<number>()
  readonly #stamps = new Map<number, number>()

  constructor(time: MessageTime) {
    this.time = time
  }

  /** Keeps the counters and records of these entities until the end. Those that are gone have no `held` afterwards. */
  *hold(entities: Iterable<number>): Procedure<void> {
    const wanted = [...new Set(entities)].filter((entity) => !this.#counters.has(entity))
    if (wanted.length === 0) return
    const places = yield* ask(
      'holdPlaces',
      wanted.sort((a, b) => a - b),
    )
    for (const place of places) this.keep(place)
  }

  /** Of a place that was read with `hold`. */
  keep(place: EntityPlace): void {
    this.#counters.set(place.record.number, { place, next: place.next })
  }

  held(entity: number): EntityRecord | undefined {
    return this.#counters.get(entity)?.place.record
  }

  /** The next number of an entity that is held. */
  nextNumber(entity: number): number {
    const counter = this.#counters.get(entity)
    if (counter === undefined) throw new Error(`entity ${entity} is not held`)
    counter.next += 1
    return counter.next - 1
  }

  /** The number of an entity's dead-letter queue. Undefined: the entity is gone. */
  *deadLetterQueueOf(entity: number): Procedure<number | undefined> {
    if (!this.#deadLetterQueues.has(entity)) {
      const children = yield* ask('childrenOf', entity)
      const found = children.find(({ kind }) => kind === 'deadLetter')
      this.#deadLetterQueues.set(entity, found?.number)
    }
    return this.#deadLetterQueues.get(entity)
  }

  /** The session's row, held until the end, with what this command has changed. */
  *session(entity: number, session: string): Procedure<SessionRow> {
    const known = this.#sessions.get(session)
    if (known !== undefined) return known.row
    const row = yield* ask('holdSession', entity, session)
    this.#sessions.set(session, { row, isNew: isBlank(row) })
    return row
  }

  *changeSession(row: SessionRow): Procedure<void> {
    this.#sessions.set(row.session, { row, isNew: false })
    yield* ask('changeSession', row)
  }

  /** Counts towards the entity's size. What is in a subscription counts towards its topic's, too. */
  addBytes({ kind, number, parent }: EntityRecord, bytes: number): void {
    this.#bytes.set(number, this.addedBytes(number) + bytes)
    if (kind === 'subscription' && parent !== undefined) {
      this.#bytes.set(parent, this.addedBytes(parent) + bytes)
    }
  }

  addedBytes(entity: number): number {
    return this.#bytes.get(entity) ?? 0
  }

  /** Listeners may find something new in this entity. */
  touches(entity: number): void {
    this.#touched.add(entity)
  }

  get touched(): readonly number[] {
    return [...this.#touched].sort((a, b) => a - b)
  }

  /** Activity of an entity, by the lock clock. */
  stamps(entity: number, lockMs: number): void {
    this.#stamps.set(entity, Math.max(lockMs, this.#stamps.get(entity) ?? lockMs))
  }

  /** Activities of entities, in the order of their numbers. */
  get stamped(): readonly (readonly [entity: number, lockMs: number])[] {
    return [...this.#stamps].sort(([a], [b]) => a - b)
  }

  /** A scheduled message was enqueued, at an instant of the store's clock: from then on the entity may be idle (TMP-05). */
  noteEnqueued({ number, settings }: EntityRecord, enqueuedMs: number): void {
    if (settings.autoDeleteOnIdleMs === undefined) return
    const { lockMs, storeMs } = this.time
    this.stamps(number, lockMs - Math.max(0, storeMs - enqueuedMs))
  }

  /** Writes counters and sums, and takes back rows of sessions that were made only to hold them. */
  *finish(): Procedure<void> {
    for (const [entity, { place, next }] of this.#counters) {
      if (next !== place.next) yield* ask('setNext', entity, next)
    }
    for (const { row, isNew } of this.#sessions.values()) {
      if (isNew) yield* ask('changeSession', row)
    }
    for (const [entity, bytes] of this.#bytes) {
      if (bytes !== 0) yield* ask('addBytes', entity, bytes)
    }
  }
}

function isBlank({ lock, state, expiredThrough }: SessionRow): boolean {
  return lock === undefined && state === undefined && expiredThrough === 0
}
