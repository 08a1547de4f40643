import {
  ACTIVE,
  DEFERRED,
  SCHEDULED,
  type ClockPair,
  type EntityCounts,
  type EntityDefinition,
  type EntityLook,
  type EntityPlace,
  type ListedSession,
  type EntityRecord,
  type MessageRow,
  type NewMessageRow,
  type RowRequests,
  type SessionLook,
  type SessionRow,
  type StoredMessage,
} from '@tidemark/store/messages'
import type { SQLInputValue } from 'node:sqlite'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { EntityRows } from './entity-rows.ts'
import { messageRow, messageValues, sessionRow, withBody } from './message-columns.ts'
import { countMessages, freeSession, lookAt, lookAtSessions, readSession } from './message-looks.ts'
import { readNews } from './message-tables.ts'
import { purgeDropped } from './purge-dropped.ts'
import {
  BODY,
  BY_ID,
  BY_NUMBER,
  CHANGE,
  CLAIM,
  DUE_ROWS,
  ENDED_SESSIONS,
  EXPIRED_ROWS,
  EXPIRED_ROWS_IN_SESSION,
  EXPIRED_SESSIONS,
  EXPIRING_SESSIONS,
  FORGOTTEN,
  FROM_NUMBER,
  FROM_NUMBER_IN_SESSION,
  INSERT,
  INSERT_BODY,
  LOCK,
  LOCKED_IN_SESSION,
  NEXT_SESSION_OF_MESSAGES,
  NEXT_SESSION_WITH_STATE,
  READY_ROWS,
  READY_ROWS_IN_SESSION,
  REMOVE,
  REMOVE_BODY,
  STORE_SESSION,
  WAITING_IN_SESSION,
} from './message-statements.ts'

type RequestOf<Kind extends keyof RowRequests> = Parameters<RowRequests[Kind]>[0]

/** Of ids of messages that the same claim makes, how many that have ended are forgotten for each. */
const FORGOTTEN_PER_CLAIM = 2

/**
 * The tables of messages for the procedures, within a transaction of the writer. After one that was rolled back, it must
 * not be used any more: begin with a new one.
 */
export class MessageRows implements RowRequests {
  readonly #connection: Connection
  readonly #entities: EntityRows
  #hasWritten = false

  constructor(connection: Connection) {
    this.#connection = connection
    this.#entities = new EntityRows(connection)
  }

  /** Whether something was written since the last call. */
  takeWritten(): boolean {
    const written = this.#hasWritten
    this.#hasWritten = false
    return written
  }

  /** The number of transactions so far that changed something for listeners. */
  news(): number {
    return readNews(this.#connection)
  }

  /** This one did. Returns the same number, with it. */
  addNews(): number {
    const row = this.#connection.get('UPDATE broker SET news = news + 1 RETURNING news')
    return numberColumn(row ?? [], 0)
  }

  readPlace(entity: number): EntityPlace | undefined {
    return this.#entities.place(entity)
  }

  holdPlaces(entities: readonly number[]): readonly EntityPlace[] {
    return present(entities.toSorted(byValue).map((entity) => this.#entities.place(entity)))
  }

  setNext(entity: number, next: number): void {
    this.#write('UPDATE entity SET next = ? WHERE number = ?', next, entity)
  }

  readClock(): ClockPair {
    const row = this.#connection.get('SELECT store, lock FROM broker') ?? []
    return { storeMs: numberColumn(row, 0), lockMs: numberColumn(row, 1) }
  }

  storeClock({ storeMs, lockMs }: ClockPair): void {
    this.#write('UPDATE broker SET store = ?, lock = ?', storeMs, lockMs)
  }

  touch(entity: number, lockMs: number): void {
    this.#write(
      'UPDATE entity SET accessed = ? WHERE number = ? AND accessed < ?',
      lockMs,
      entity,
      lockMs,
    )
  }

  insert(rows: readonly NewMessageRow[]): void {
    if (rows.length === 0) return
    this.#hasWritten = true
    const sql = 'UPDATE broker SET message = message + ? RETURNING message'
    let id = numberColumn(this.#connection.get(sql, rows.length) ?? [], 0) - rows.length
    for (const row of rows) {
      this.#connection.run(INSERT, id, ...messageValues(row))
      this.#connection.run(INSERT_BODY, id, row.head, row.body)
      id++
    }
  }

  take(request: RequestOf<'take'>): readonly StoredMessage[] {
    const { session, entity, max, maxBytes, deletes } = request
    const unexpiredAtMs = request.notExpiredAtMs ?? -1
    const rows =
      session === undefined
        ? this.#rows(READY_ROWS, entity, request.afterNumber, unexpiredAtMs, max)
        : this.#rows(
            READY_ROWS_IN_SESSION,
            entity,
            session,
            request.afterNumber,
            unexpiredAtMs,
            max,
          )
    const within = withinBytes(rows, maxBytes)
    const { locks, dueMs } = request
    const last = locks.at(-1)
    if (deletes || last === undefined) {
      const taken = this.#withBodies(within)
      if (deletes) this.remove(taken.map(({ id }) => id))
      return taken
    }
    const locked = within.map((row, place) => ({ ...row, lock: locks[place] ?? last, dueMs }))
    for (const { id, lock } of locked) this.#write(LOCK, lock, dueMs ?? null, id)
    return this.#withBodies(locked)
  }

  sessionsOf(ids: readonly number[]): readonly string[] {
    const sessions = this.rowsById(ids).map(({ session }) => session)
    return [...new Set(present(sessions))].toSorted()
  }

  rowsById(ids: readonly number[]): readonly MessageRow[] {
    return ids.flatMap((id) => this.#rows(BY_ID, id))
  }

  rowsByNumber(entity: number, numbers: readonly number[]): readonly MessageRow[] {
    return numbers.flatMap((number) => this.#rows(BY_NUMBER, entity, number))
  }

  messagesById(ids: readonly number[]): readonly StoredMessage[] {
    return this.#withBodies(this.rowsById(ids.toSorted(byValue)))
  }

  change(rows: readonly MessageRow[]): void {
    for (const row of rows) this.#write(CHANGE, ...messageValues(row), row.id)
  }

  remove(ids: readonly number[]): void {
    for (const id of ids) {
      this.#write(REMOVE, id)
      this.#write(REMOVE_BODY, id)
    }
  }

  dueRows(entity: number, { storeMs, lockMs }: ClockPair, max: number): readonly MessageRow[] {
    return [
      ...this.#rows(DUE_ROWS, entity, ACTIVE, lockMs, max),
      ...this.#rows(DUE_ROWS, entity, DEFERRED, lockMs, max),
      ...this.#rows(DUE_ROWS, entity, SCHEDULED, storeMs, max),
    ]
      .toSorted((a, b) => (a.dueMs ?? 0) - (b.dueMs ?? 0) || a.number - b.number)
      .slice(0, max)
  }

  expiredRows(request: RequestOf<'expiredRows'>): readonly MessageRow[] {
    const { entity, session, storeMs, max } = request
    return session === undefined
      ? this.#rows(EXPIRED_ROWS, entity, storeMs, max)
      : this.#rows(EXPIRED_ROWS_IN_SESSION, entity, session, storeMs, max)
  }

  /** Steps over sessions: one that has expired has many messages which expire. */
  expiredSessions(entity: number, storeMs: number, max: number): readonly string[] {
    const rows = this.#connection.all(EXPIRED_SESSIONS, entity, storeMs, max)
    return [...new Set(rows.map((row) => textColumn(row, 0)))].sort()
  }

  sessionRows(request: RequestOf<'sessionRows'>): readonly MessageRow[] {
    const { entity, session, max } = request
    return request.which === 'waiting'
      ? this.#rows(WAITING_IN_SESSION, entity, session, request.through, max)
      : this.#rows(LOCKED_IN_SESSION, entity, session, request.lock, max)
  }

  peek(request: RequestOf<'peek'>): readonly StoredMessage[] {
    const { entity, session, fromNumber, max, maxBytes } = request
    const rows =
      session === undefined
        ? this.#rows(FROM_NUMBER, entity, fromNumber, max)
        : this.#rows(FROM_NUMBER_IN_SESSION, entity, session, fromNumber, max)
    return this.#withBodies(withinBytes(rows, maxBytes))
  }

  look(entity: number): EntityLook {
    const look = lookAt(this.#connection, entity)
    if (look === undefined) throw new Error(`entity ${entity} is gone`)
    return look
  }

  lookSessions(entity: number, sessions: readonly string[]): readonly SessionLook[] {
    return lookAtSessions(this.#connection, entity, sessions)
  }

  count(entity: number, storeMs: number): EntityCounts {
    return countMessages(this.#connection, entity, storeMs)
  }

  addBytes(entity: number, bytes: number): void {
    this.#write('UPDATE entity SET bytes = bytes + ? WHERE number = ?', bytes, entity)
  }

  readBytes(entity: number): number {
    const row = this.#connection.get('SELECT bytes FROM entity WHERE number = ?', entity)
    return row === undefined ? 0 : numberColumn(row, 0)
  }

  claimIds(request: RequestOf<'claimIds'>): readonly string[] {
    const { entity, ids, untilMs, storeMs } = request
    const fresh = ids.filter((id) => this.#write(CLAIM, entity, id, untilMs, storeMs) > 0)
    const max = ids.length * FORGOTTEN_PER_CLAIM
    for (const row of this.#connection.all(FORGOTTEN, entity, storeMs, max)) {
      this.#write('DELETE FROM seen WHERE entity = ? AND id = ?', entity, textColumn(row, 0))
    }
    return fresh
  }

  /** Only `changeSession` stores it: until then nobody else writes. */
  holdSession(entity: number, session: string): SessionRow {
    return (
      readSession(this.#connection, entity, session) ?? {
        entity,
        session,
        lock: undefined,
        lockedUntilMs: 0,
        state: undefined,
        expiredThrough: 0,
        updatedMs: 0,
      }
    )
  }

  nextSession(entity: number, after: string, lockMs: number): SessionRow | undefined {
    const session = freeSession(this.#connection, { entity, after, lockMs })
    return session === undefined ? undefined : this.holdSession(entity, session)
  }

  endedSessions(entity: number, lockMs: number, max: number): readonly SessionRow[] {
    return this.#connection.all(ENDED_SESSIONS, entity, lockMs, max).map(sessionRow)
  }

  expiringSessions(entity: number, max: number): readonly SessionRow[] {
    return this.#connection.all(EXPIRING_SESSIONS, entity, max).map(sessionRow)
  }

  changeSession(row: SessionRow): void {
    const { entity, session, lock, state, lockedUntilMs, expiredThrough, updatedMs } = row
    if (lock === undefined && state === undefined && expiredThrough === 0) {
      this.#write('DELETE FROM session WHERE entity = ? AND session = ?', entity, session)
      return
    }
    const values = [lock ?? null, lockedUntilMs, state ?? null, expiredThrough, updatedMs]
    this.#write(STORE_SESSION, entity, session, ...values)
  }

  listSessions(entity: number, after: string, max: number): readonly ListedSession[] {
    const found: ListedSession[] = []
    let last = after
    while (found.length < max) {
      const ofMessages = this.#connection.get(NEXT_SESSION_OF_MESSAGES, entity, last)
      const withState = this.#connection.get(NEXT_SESSION_WITH_STATE, entity, last)
      const next = [ofMessages, withState].flatMap((row) => row && [textColumn(row, 0)])
      const session = next.filter((name) => name !== undefined).toSorted(byBytes)[0]
      if (session === undefined) break
      const hasState = withState !== undefined && textColumn(withState, 0) === session
      found.push({ session, stateMs: hasState ? numberColumn(withState, 1) : undefined })
      last = session
    }
    return found
  }

  createEntities(
    entities: Parameters<RowRequests['createEntities']>[0],
    time: ClockPair,
  ): ReturnType<RowRequests['createEntities']> {
    this.#hasWritten = true
    return this.#entities.create(entities, time)
  }

  findEntity(path: string): EntityRecord | undefined {
    return this.#entities.find(path)
  }

  changeEntity(entity: number, definition: EntityDefinition, storeMs: number): EntityRecord {
    this.#hasWritten = true
    return this.#entities.change(entity, definition, storeMs)
  }

  raiseVersion(entity: number): void {
    this.#hasWritten = true
    this.#entities.raiseVersion(entity)
  }

  dropEntities(numbers: readonly number[]): void {
    this.#hasWritten = true
    for (const number of numbers) this.#entities.drop(number)
  }

  isForwardedTo(path: string): boolean {
    return this.#entities.isForwardedTo(path)
  }

  childrenOf(entity: number): readonly EntityRecord[] {
    return this.#entities.childrenOf(entity)
  }

  purge(max: number): boolean {
    this.#hasWritten = true
    return purgeDropped(this.#connection, max)
  }

  #rows(sql: string, ...values: readonly SQLInputValue[]): readonly MessageRow[] {
    return this.#connection.all(sql, ...values).map(messageRow)
  }

  /** Without those that have lost their body: `check` names them. */
  #withBodies(rows: readonly MessageRow[]): readonly StoredMessage[] {
    return rows.flatMap((row) => {
      const body = this.#connection.get(BODY, row.id)
      return body === undefined ? [] : [withBody(row, body)]
    })
  }

  /** Number of rows changed. */
  #write(sql: string, ...values: readonly SQLInputValue[]): number {
    const changed = this.#connection.run(sql, ...values)
    if (changed > 0) this.#hasWritten = true
    return changed
  }
}

/** The first of these messages, at least one. */
function withinBytes(rows: readonly MessageRow[], maxBytes: number): readonly MessageRow[] {
  let sum = 0
  const end = rows.findIndex(({ bytes }, index) => {
    sum += bytes
    return index > 0 && sum > maxBytes
  })
  return end === -1 ? rows : rows.slice(0, end)
}

function present<Item>(items: readonly (Item | undefined)[]): readonly Item[] {
  return items.filter((item) => item !== undefined)
}

/** As SQLite compares texts: texts of this language are compared by UTF-16, where an emoji is below U+FFFD. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function byValue(a: number, b: number): number {
  return a - b
}
