import type { ClockPair } from './message-time.ts'
import type { EntityDefinition, EntityRecord, NewEntity } from './entities.ts'

/** The numbers of AMQP's `x-opt-message-state`. */
export const ACTIVE = 0 as const
export const DEFERRED = 1 as const
export const SCHEDULED = 2 as const
export type MessageState = typeof ACTIVE | typeof DEFERRED | typeof SCHEDULED

/** The small row of a message: what changes in its life. */
export interface MessageRow {
  /** Given by the engine, for good: it survives moves. Below 2^48: a lock token begins with it. */
  readonly id: number
  readonly entity: number
  /** The sequence number. */
  readonly number: number
  readonly state: MessageState
  readonly session: string | undefined
  /** Of a scheduled message, the instant for which it is scheduled. */
  readonly enqueuedMs: number
  /** The effective TTL; undefined: never. */
  readonly ttlMs: number | undefined
  /** Undefined: never, or not enqueued yet. */
  readonly expiresMs: number | undefined
  /**
   * Of a scheduled message: when it is enqueued, by the store's clock. Of a locked one outside of sessions: when the lock
   * ends, by the lock clock. Otherwise undefined: a lock in a session ends with the session's.
   */
  readonly dueMs: number | undefined
  /** 20 hexadecimal digits; the lock token is made of the id and these. In a session, the session's own. Undefined: not locked. */
  readonly lock: string | undefined
  /** Unsuccessful deliveries so far: `deliveryCount`. */
  readonly deliveries: number
  /** `enqueuedSequenceNumber`: the number where it was first enqueued. */
  readonly firstNumber: number
  /** Times that it was forwarded since it was sent, or since it died of something else. */
  readonly hops: number
  /** `deadLetterSource`: the path of the entity where it died, once it was forwarded from a dead-letter queue. */
  readonly deadLetterSource: string | undefined
  /** Properties that changed since it was sent: text of `MessageChanges`. */
  readonly changes: string | undefined
  /** What it counts towards the entity's size. */
  readonly bytes: number
}

/** With the row that is written once. The engine looks into neither `head` nor `body`. */
export interface StoredMessage extends MessageRow {
  /** The properties, as text. */
  readonly head: string
  readonly body: Uint8Array
}

export type NewMessageRow = Omit<StoredMessage, 'id'>

/** One held, once held, or remembered session. The row is the session's lock. */
export interface SessionRow {
  readonly entity: number
  readonly session: string
  /** 20 hexadecimal digits: the fence. Undefined: not held. */
  readonly lock: string | undefined
  /** By the lock clock; 0 while not held. */
  readonly lockedUntilMs: number
  readonly state: Uint8Array | undefined
  /** Waiting messages up to this number have expired with the session (SES-01), also those not yet moved. 0: none. */
  readonly expiredThrough: number
  /** When its state was last set: epoch ms. */
  readonly updatedMs: number
}

export interface ListedSession {
  readonly session: string
  /** When its state was last set: epoch ms. Undefined: it has none. */
  readonly stateMs: number | undefined
}

/** An entity with its counter. */
export interface EntityPlace {
  readonly record: EntityRecord
  /** The number that the next message gets. */
  readonly next: number
  readonly clock: ClockPair
  /**
   * Earliest `dueMs` of a message (locked or scheduled) or `lockedUntilMs` of a held session, whichever clock it is by; 0
   * while a session has an `expiredThrough`. So most commands find in one request that nothing is due. Undefined: never.
   */
  readonly dueMs: number | undefined
  /** Earliest expiry of an active message without a lock. */
  readonly expiresMs: number | undefined
}

/** What waits in an entity, without locking anything: for the timers of listeners, and for counts. */
export interface EntityLook {
  readonly entity: number
  /** An active message without a lock; in an entity with sessions, one whose session nobody holds by the stored row. */
  readonly hasReady: boolean
  /** Earliest end of a lock, of messages and sessions, by the lock clock. */
  readonly lockEndMs: number | undefined
  /** Earliest scheduled instant, by the store's clock. */
  readonly scheduledMs: number | undefined
  /** Earliest expiry of an active message without a lock, by the store's clock. */
  readonly expiresMs: number | undefined
}

/** What waits in a session that the caller holds. Sessions with nothing are left out. */
export interface SessionLook {
  readonly session: string
  /** An active message without a lock. */
  readonly hasReady: boolean
  /** Earliest expiry of such a message, by the store's clock. */
  readonly expiresMs: number | undefined
}

export interface EntityCounts {
  /** Neither deferred nor scheduled. */
  readonly active: number
  /** They count as active or deferred, too. */
  readonly locked: number
  readonly deferred: number
  readonly scheduled: number
  /** Active, not locked, and past their expiry. They count as active, too. */
  readonly expired: number
  readonly bytes: number
  readonly oldestEnqueuedMs: number | undefined
}

/**
 * The requests of a procedure to the tables, each one statement where the engine can. All of a procedure's requests are
 * one transaction: all of it happens, or nothing. Rows that a request returns `for update` stay as they are until the
 * end of the transaction. Locks are taken in this order: a session's row, message rows by id, entities by number.
 */
export interface RowRequests {
  /** The entity; undefined when it is gone. `hold` keeps its counter and record until the end. */
  readPlace(entity: number, options: { readonly hold: boolean }): EntityPlace | undefined
  /** `readPlace` with `hold`, of several in the order of numbers. Those that are gone are left out. */
  holdPlaces(entities: readonly number[]): readonly EntityPlace[]
  /** Sets the counter of an entity that is held. */
  setNext(entity: number, next: number): void
  /** The stored pair; both 0 if none was stored yet. For commands without an entity. */
  readClock(): ClockPair
  /** Stores the pair of clocks for other brokers. */
  storeClock(pair: ClockPair): void
  /**
   * Stamps the last activity, if it is later than the stored one. The last request but `storeClock`, so it must not wait
   * for who holds the entity's counter.
   */
  touch(entity: number, lockMs: number): void

  /** Ids are given in the order of the rows. */
  insert(rows: readonly NewMessageRow[]): void
  /**
   * Locks up to `max` active messages that have no lock, in the order of numbers, and returns them for update as they are
   * after it. Skips rows that another transaction has, but not inside a session. Stops before `maxBytes` is passed, but
   * gives at least one. One that has lost its body is locked, but neither given nor deleted. `notExpiredAtMs`: skips those that expire at or before it. `deletes` removes them instead.
   * Each gets the lock at its place in `locks`; those behind the end of the list get the last one. Without `locks` and
   * without `deletes` it only reads.
   */
  take(request: {
    readonly entity: number
    /** Of this session only; undefined: of an entity without sessions. */
    readonly session: string | undefined
    /** With numbers above this one. */
    readonly afterNumber: number
    readonly notExpiredAtMs: number | undefined
    readonly max: number
    readonly maxBytes: number
    readonly deletes: boolean
    readonly locks: readonly string[]
    readonly dueMs: number | undefined
  }): readonly StoredMessage[]
  /** Sessions of these messages, each once, in the order of names. Locks nothing: who settles holds the sessions first. */
  sessionsOf(ids: readonly number[]): readonly string[]
  /** For update; missing ones are left out. */
  rowsById(ids: readonly number[]): readonly MessageRow[]
  /** For update; missing ones are left out. */
  rowsByNumber(entity: number, numbers: readonly number[]): readonly MessageRow[]
  /** With the body. In the order of ids. */
  messagesById(ids: readonly number[]): readonly StoredMessage[]
  /** Writes every column of these rows, found by id. */
  change(rows: readonly MessageRow[]): void
  /** Removes both rows of each. */
  remove(ids: readonly number[]): void
  /**
   * Locked messages with `dueMs` at or before `lockMs`, and scheduled ones with `dueMs` at or before `storeMs`: the first
   * `max` in the order of (dueMs, number), for update. Skips rows that another transaction has.
   */
  dueRows(entity: number, time: ClockPair, max: number): readonly MessageRow[]
  /**
   * Active messages without a lock that expire at or before `storeMs`: the first `max` in the order of
   * (expiresMs, number), for update; in this session only, if given. Skips rows that another transaction has.
   */
  expiredRows(request: {
    readonly entity: number
    readonly session: string | undefined
    readonly storeMs: number
    readonly max: number
  }): readonly MessageRow[]
  /**
   * Of the first `max` active messages without a lock that expire at or before `storeMs` and have numbers above their
   * session's `expiredThrough`, in the order of (expiresMs, number): their sessions, in the order of names. Locks nothing.
   */
  expiredSessions(entity: number, storeMs: number, max: number): readonly string[]
  /**
   * Messages of a session, in the order of numbers, for update: `waiting` are active without a lock and have numbers up to
   * `through`, `locked` are all with this lock.
   */
  sessionRows(
    request: {
      readonly entity: number
      readonly session: string
      readonly max: number
    } & (
      | { readonly which: 'waiting'; readonly through: number }
      | { readonly which: 'locked'; readonly lock: string }
    ),
  ): readonly MessageRow[]
  /** All states, from this number on, in the order of numbers; in this session only, if given. At least one, if there is one. */
  peek(request: {
    readonly entity: number
    readonly session: string | undefined
    readonly fromNumber: number
    readonly max: number
    readonly maxBytes: number
  }): readonly StoredMessage[]
  look(entity: number): EntityLook
  lookSessions(entity: number, sessions: readonly string[]): readonly SessionLook[]
  count(entity: number, storeMs: number): EntityCounts

  /** Adds to what the entity holds. Never makes commits of other processes wait. */
  addBytes(entity: number, bytes: number): void
  /** What the entity holds, as far as it is committed. */
  readBytes(entity: number): number

  /**
   * Of these ids, those that the entity has not seen within its window. They are remembered until `untilMs`. Also forgets
   * some that ended at or before `storeMs`. An id that stands twice in the list is given once, for its first place.
   */
  claimIds(request: {
    readonly entity: number
    readonly ids: readonly string[]
    readonly untilMs: number
    readonly storeMs: number
  }): readonly string[]

  /** The session's row for update, made if it is not there. */
  holdSession(entity: number, session: string): SessionRow
  /**
   * The first session after `after`, in the order of their names, that has an active message without a lock above its
   * `expiredThrough`, and is not held: `lock` is undefined, or `lockedUntilMs` is at or before `lockMs`. Its row for
   * update. Skips rows that another transaction has.
   */
  nextSession(entity: number, after: string, lockMs: number): SessionRow | undefined
  /**
   * Sessions whose lock has ended at or before `lockMs`, for update; the first `max` by (lockedUntilMs, session). Skips rows
   * that another transaction has.
   */
  endedSessions(entity: number, lockMs: number, max: number): readonly SessionRow[]
  /** Sessions whose `expiredThrough` is not 0: the first `max` by name, for update. Skips rows that another transaction has. */
  expiringSessions(entity: number, max: number): readonly SessionRow[]
  /** Writes every column. A row that says nothing (no lock, no state, `expiredThrough` 0) is removed instead. */
  changeSession(row: SessionRow): void
  /** Sessions with messages or a state, after `after`, in the order of names. */
  listSessions(entity: number, after: string, max: number): readonly ListedSession[]

  /** Undefined for the first path that exists already. Numbers rise in the order of the list. */
  createEntities(
    entities: readonly (Omit<NewEntity, 'kind' | 'topic'> & {
      readonly kind: EntityRecord['kind']
      /** A number, or the place of an earlier one in this list. */
      readonly parent: number | { readonly at: number } | undefined
    })[],
    time: ClockPair,
  ): readonly EntityRecord[] | { readonly exists: string }
  /** By path, without regard to case. */
  findEntity(path: string): EntityRecord | undefined
  /** Writes a new definition, and raises the version, of this entity; see `EntityRecord.version`. */
  changeEntity(entity: number, definition: EntityDefinition, storeMs: number): EntityRecord
  /** Raises the version of an entity whose children changed. */
  raiseVersion(entity: number): void
  /** Takes entities and what belongs to them out of the catalog at once. `purge` removes their rows later. */
  dropEntities(numbers: readonly number[]): void
  /** True when an entity's `forwardTo` or `forwardDeadLettersTo` is this path, without regard to case. */
  isForwardedTo(path: string): boolean
  /** Those whose parent this is. */
  childrenOf(entity: number): readonly EntityRecord[]
  /** Removes up to `max` rows of dropped entities. True when there are more. */
  purge(max: number): boolean
}

/** One request of a procedure. */
export type RowRequest = {
  readonly [Kind in keyof RowRequests]: {
    readonly kind: Kind
    readonly values: Parameters<RowRequests[Kind]>
  }
}[keyof RowRequests]

/** A procedure asks for rows by yielding, so that the same text runs in a thread with SQLite and over a connection. */
export type Procedure<Result> = Generator<RowRequest, Result, unknown>

/** `yield* ask('take', {…})` inside a procedure. */
export function* ask<Kind extends keyof RowRequests>(
  kind: Kind,
  ...values: Parameters<RowRequests[Kind]>
): Procedure<ReturnType<RowRequests[Kind]>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The compiler does not see that the members belong to one request, or that the answer belongs to it.
  return (yield { kind, values } as RowRequest) as ReturnType<RowRequests[Kind]>
}

/** Runs a procedure on tables that answer at once. */
export function runProcedure<Result>(procedure: Procedure<Result>, rows: RowRequests): Result {
  let step = procedure.next()
  while (step.done !== true) step = procedure.next(answer(rows, step.value))
  return step.value
}

/** Rows that answer later. */
export type AsyncRowRequests = {
  readonly [Kind in keyof RowRequests]: (
    ...values: Parameters<RowRequests[Kind]>
  ) => Promise<ReturnType<RowRequests[Kind]>>
}

/** Runs a procedure on tables behind a connection. */
export async function runProcedureAsync<Result>(
  procedure: Procedure<Result>,
  rows: AsyncRowRequests,
): Promise<Result> {
  let step = procedure.next()
  while (step.done !== true) step = procedure.next(await answer(rows, step.value))
  return step.value
}

function answer(
  rows: Readonly<Record<keyof RowRequests, unknown>>,
  { kind, values }: RowRequest,
): unknown {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `ask` took the values for this method.
  const method = rows[kind] as (...values: readonly unknown[]) => unknown
  return method.apply(rows, [...values])
}
