import {
  ACTIVE,
  DEFERRED,
  SCHEDULED,
  type ListedSession,
  type MessageRow,
  type NewMessageRow,
  type RowRequests,
  type SessionRow,
  type StoredMessage,
} from '@tidemark/store/messages'

/** Requests about messages and sessions; those about entities are rows by number. */
export type ModelledRequests = Pick<
  RowRequests,
  | 'insert'
  | 'take'
  | 'sessionsOf'
  | 'rowsById'
  | 'rowsByNumber'
  | 'messagesById'
  | 'change'
  | 'remove'
  | 'dueRows'
  | 'expiredRows'
  | 'expiredSessions'
  | 'sessionRows'
  | 'peek'
  | 'look'
  | 'lookSessions'
  | 'count'
  | 'addBytes'
  | 'readBytes'
  | 'claimIds'
  | 'holdSession'
  | 'nextSession'
  | 'endedSessions'
  | 'expiringSessions'
  | 'changeSession'
  | 'listSessions'
>

type RequestOf<Kind extends keyof RowRequests> = Parameters<RowRequests[Kind]>[0]

/** What the requests of procedures mean, as lists that are filtered and sorted: the other way than an engine's indexes. */
export class ModelRows implements ModelledRequests {
  #messages: StoredMessage[] = []
  #sessions: SessionRow[] = []
  readonly #seen = new Map<string, number>()
  readonly #bytes = new Map<number, number>()

  /** The ids come from the engine. */
  insert(rows: readonly (NewMessageRow & { readonly id?: number })[]): void {
    for (const row of rows) this.#messages.push({ ...row, id: row.id ?? 0 })
    this.#messages.sort((a, b) => a.number - b.number)
  }

  take(request: RequestOf<'take'>): readonly StoredMessage[] {
    const { entity, session, afterNumber, notExpiredAtMs = -1, max, maxBytes, locks } = request
    const found = this.#ready(entity, session)
      .filter(({ number }) => session === undefined || number > afterNumber)
      .filter(({ expiresMs = Infinity }) => expiresMs > notExpiredAtMs)
    const taken = within(found.slice(0, max), maxBytes)
    if (request.deletes) this.remove(taken.map(({ id }) => id))
    const last = locks.at(-1)
    if (request.deletes || last === undefined) return taken
    const locked = taken.map((message, place) => ({
      ...message,
      lock: locks[place] ?? last,
      dueMs: request.dueMs,
    }))
    this.change(locked)
    return locked
  }

  sessionsOf(ids: readonly number[]): readonly string[] {
    const names = this.rowsById(ids).flatMap(({ session }) => session ?? [])
    return [...new Set(names)].sort()
  }

  rowsById(ids: readonly number[]): readonly MessageRow[] {
    return this.#rows(({ id }) => ids.includes(id)).map(stateRow)
  }

  rowsByNumber(entity: number, numbers: readonly number[]): readonly MessageRow[] {
    return this.#rows((row) => row.entity === entity && numbers.includes(row.number)).map(stateRow)
  }

  messagesById(ids: readonly number[]): readonly StoredMessage[] {
    return this.#rows(({ id }) => ids.includes(id)).sort((a, b) => a.id - b.id)
  }

  change(rows: readonly MessageRow[]): void {
    const changed = new Map(rows.map((row) => [row.id, row]))
    this.#messages = this.#messages.map((message) => ({ ...message, ...changed.get(message.id) }))
    this.#messages.sort((a, b) => a.number - b.number)
  }

  remove(ids: readonly number[]): void {
    this.#messages = this.#messages.filter(({ id }) => !ids.includes(id))
  }

  dueRows(
    entity: number,
    time: Parameters<RowRequests['dueRows']>[1],
    max: number,
  ): readonly MessageRow[] {
    return this.#rows((row) => row.entity === entity)
      .filter(({ dueMs, state }) => {
        return (dueMs ?? Infinity) <= (state === SCHEDULED ? time.storeMs : time.lockMs)
      })
      .sort((a, b) => (a.dueMs ?? 0) - (b.dueMs ?? 0))
      .slice(0, max)
      .map(stateRow)
  }

  expiredRows(request: RequestOf<'expiredRows'>): readonly MessageRow[] {
    const { entity, session, storeMs, max } = request
    const waiting = session === undefined ? this.#allReady(entity) : this.#ready(entity, session)
    return waiting
      .filter(({ expiresMs = Infinity }) => expiresMs <= storeMs)
      .sort((a, b) => (a.expiresMs ?? 0) - (b.expiresMs ?? 0))
      .slice(0, max)
      .map(stateRow)
  }

  expiredSessions(entity: number, storeMs: number, max: number): readonly string[] {
    const names = this.#allReady(entity)
      .filter(({ expiresMs = Infinity }) => expiresMs <= storeMs)
      .filter(({ number, session = '' }) => number > this.#through(entity, session))
      .filter(({ session }) => session !== undefined)
      .sort((a, b) => (a.expiresMs ?? 0) - (b.expiresMs ?? 0) || a.number - b.number)
      .slice(0, max)
      .flatMap(({ session }) => session ?? [])
    return [...new Set(names)].sort()
  }

  sessionRows(request: RequestOf<'sessionRows'>): readonly MessageRow[] {
    const { entity, session, max } = request
    const rows =
      request.which === 'waiting'
        ? this.#ready(entity, session).filter(({ number }) => number <= request.through)
        : this.#rows((row) => {
            return row.entity === entity && row.session === session && row.lock === request.lock
          })
    return rows.slice(0, max).map(stateRow)
  }

  peek(request: RequestOf<'peek'>): readonly StoredMessage[] {
    const { entity, session, fromNumber, max, maxBytes } = request
    const rows = this.#rows((row) => {
      const isAsked = session === undefined || row.session === session
      return row.entity === entity && isAsked && row.number >= fromNumber
    })
    return within(rows.slice(0, max), maxBytes)
  }

  look(entity: number): ReturnType<RowRequests['look']> {
    const rows = this.#rows((row) => row.entity === entity)
    const held = this.#held(entity)
    return {
      entity,
      hasReady: this.#allReady(entity).some(({ session, number }) => {
        if (session === undefined) return true
        const isHeld = held.some((row) => row.session === session)
        return !isHeld && number > this.#through(entity, session)
      }),
      lockEndMs: earliest([
        ...rows.filter(({ state }) => state !== SCHEDULED).map(({ dueMs }) => dueMs),
        ...held.map(({ lockedUntilMs }) => lockedUntilMs),
      ]),
      scheduledMs: earliest(
        rows.filter(({ state }) => state === SCHEDULED).map(({ dueMs }) => dueMs),
      ),
      expiresMs: earliest(this.#allReady(entity).map(({ expiresMs }) => expiresMs)),
    }
  }

  lookSessions(
    entity: number,
    sessions: readonly string[],
  ): ReturnType<RowRequests['lookSessions']> {
    return sessions.flatMap((session) => {
      const rows = this.#ready(entity, session)
      if (rows.length === 0) return []
      return [{ session, hasReady: true, expiresMs: earliest(rows.map((row) => row.expiresMs)) }]
    })
  }

  count(entity: number, storeMs: number): ReturnType<RowRequests['count']> {
    const rows = this.#rows((row) => row.entity === entity)
    const size = (keep: (row: StoredMessage) => boolean): number => rows.filter(keep).length
    return {
      active: size(({ state }) => state === ACTIVE),
      locked: size(({ lock }) => lock !== undefined),
      deferred: size(({ state }) => state === DEFERRED),
      scheduled: size(({ state }) => state === SCHEDULED),
      expired: this.#allReady(entity).filter(({ expiresMs = Infinity }) => expiresMs <= storeMs)
        .length,
      bytes: this.readBytes(entity),
      oldestEnqueuedMs: earliest(
        rows.filter(({ state }) => state !== SCHEDULED).map(({ enqueuedMs }) => enqueuedMs),
      ),
    }
  }

  addBytes(entity: number, bytes: number): void {
    this.#bytes.set(entity, this.readBytes(entity) + bytes)
  }

  readBytes(entity: number): number {
    return this.#bytes.get(entity) ?? 0
  }

  claimIds(request: RequestOf<'claimIds'>): readonly string[] {
    const { entity, ids, untilMs, storeMs } = request
    return ids.filter((id) => {
      const key = `${entity}:${id}`
      if ((this.#seen.get(key) ?? -1) > storeMs) return false
      this.#seen.set(key, untilMs)
      return true
    })
  }

  holdSession(entity: number, session: string): SessionRow {
    const found = this.#sessions.find((row) => row.entity === entity && row.session === session)
    const blank = { lock: undefined, lockedUntilMs: 0, state: undefined, expiredThrough: 0 }
    return found ?? { entity, session, ...blank, updatedMs: 0 }
  }

  nextSession(entity: number, after: string, lockMs: number): SessionRow | undefined {
    const names = this.#allReady(entity)
      .filter(({ session = '', number }) => number > this.#through(entity, session))
      .flatMap(({ session }) => session ?? [])
      .filter((name) => name > after)
      .filter((name) => {
        const { lock, lockedUntilMs } = this.holdSession(entity, name)
        return lock === undefined || lockedUntilMs <= lockMs
      })
    const [first] = names.sort()
    return first === undefined ? undefined : this.holdSession(entity, first)
  }

  endedSessions(entity: number, lockMs: number, max: number): readonly SessionRow[] {
    return this.#held(entity)
      .filter(({ lockedUntilMs }) => lockedUntilMs <= lockMs)
      .sort((a, b) => a.lockedUntilMs - b.lockedUntilMs)
      .slice(0, max)
  }

  expiringSessions(entity: number, max: number): readonly SessionRow[] {
    return this.#sessions
      .filter((row) => row.entity === entity && row.expiredThrough > 0)
      .slice(0, max)
  }

  changeSession(row: SessionRow): void {
    this.#sessions = this.#sessions.filter((other) => {
      return other.entity !== row.entity || other.session !== row.session
    })
    const { lock, state, expiredThrough } = row
    if (lock === undefined && state === undefined && expiredThrough === 0) return
    this.#sessions.push(row)
    this.#sessions.sort((a, b) => (a.session < b.session ? -1 : 1))
  }

  listSessions(entity: number, after: string, max: number): readonly ListedSession[] {
    const ofMessages = this.#rows((row) => row.entity === entity).map(({ session }) => session)
    const withState = this.#sessions.filter(
      (row) => row.entity === entity && row.state !== undefined,
    )
    const times = new Map(withState.map(({ session, updatedMs }) => [session, updatedMs]))
    return [...new Set([...ofMessages, ...times.keys()].flatMap((name) => name ?? []))]
      .filter((name) => name > after)
      .sort()
      .slice(0, max)
      .map((session) => ({ session, stateMs: times.get(session) }))
  }

  /** In the order of numbers. */
  #rows(keep: (row: StoredMessage) => boolean): StoredMessage[] {
    return this.#messages.filter(keep)
  }

  #allReady(entity: number): StoredMessage[] {
    return this.#rows((row) => {
      return row.entity === entity && row.state === ACTIVE && row.lock === undefined
    })
  }

  #ready(entity: number, session: string | undefined): StoredMessage[] {
    return this.#allReady(entity).filter((row) => row.session === session)
  }

  #held(entity: number): SessionRow[] {
    return this.#sessions.filter((row) => row.entity === entity && row.lock !== undefined)
  }

  #through(entity: number, session: string): number {
    return this.holdSession(entity, session).expiredThrough
  }
}

function within(rows: readonly StoredMessage[], maxBytes: number): readonly StoredMessage[] {
  let sum = 0
  return rows.filter(({ bytes }, index) => {
    sum += bytes
    return index === 0 || sum <= maxBytes
  })
}

function stateRow({ head: _head, body: _body, ...row }: StoredMessage): MessageRow {
  return row
}

function earliest(instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((instant) => instant !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
