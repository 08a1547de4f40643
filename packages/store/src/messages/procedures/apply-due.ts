import type { EntityRecord } from '../entities.ts'
import type { Listening } from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure, type SessionRow } from '../message-rows.ts'
import { activated } from '../rules/enqueued-rows.ts'
import { planDue } from '../rules/due-order.ts'
import { expire } from '../rules/expiry-of-messages.ts'
import { returned, storeMsAtLockEnd } from '../rules/lock-rules.ts'
import type { Fate } from '../rules/message-fate.ts'
import { carryOut } from './carry-out.ts'
import type { Work } from './work.ts'

/** Messages, and sessions, that one transaction applies. */
const MAX_MESSAGES = 200
const MAX_SESSIONS = 20

/** `again`: a piece was applied, and the command does nothing else. `all`: something was due, and it was applied. */
export type Applied = 'nothing' | 'all' | 'again'

/**
 * Applies what is due in an entity before a command looks at it: ends of locks and activations, whoever asks, and expiries
 * as far as somebody listens (EXP-04, SES-03). Before a dead-letter queue is looked at, what is due in its owner is
 * applied, which may put something into it.
 *
 * What is scheduled to a topic is left to `activate`, because its rules must be judged first.
 */
export function* applyDue(
  work: Work,
  place: EntityPlace,
  listening: Listening,
): Procedure<Applied> {
  const { record } = place
  if (record.kind === 'topic') return 'nothing'
  if (record.kind === 'deadLetter') {
    const inOwner = yield* applyInOwner(work, record)
    if (inOwner === 'again') return 'again'
    // TTL is not observed in dead-letter queues (EXP-20).
    const own = yield* applyOutsideSessions(work, place, 'nobody')
    return own === 'nothing' ? inOwner : own
  }
  return record.settings.requiresSession
    ? yield* applyInSessions(work, place, listening)
    : yield* applyOutsideSessions(work, place, listening)
}

function* applyInOwner(work: Work, { parent }: EntityRecord): Procedure<Applied> {
  if (parent === undefined) return 'nothing'
  const owner = yield* ask('readPlace', parent, { hold: false })
  return owner === undefined ? 'nothing' : yield* applyDue(work, owner, 'nobody')
}

function* applyOutsideSessions(
  work: Work,
  place: EntityPlace,
  listening: Listening,
): Procedure<Applied> {
  const { record } = place
  const { storeMs } = work.time
  const listens = listening !== 'nobody'
  const due = isDue(work, place)
    ? yield* ask('dueRows', record.number, work.time, MAX_MESSAGES)
    : []
  const expired =
    listens && isPast(place.expiresMs, storeMs)
      ? yield* ask('expiredRows', {
          entity: record.number,
          session: undefined,
          storeMs,
          max: MAX_MESSAGES,
        })
      : []
  const plan = planDue(record, work.time, { due, expired, listens, max: MAX_MESSAGES })
  yield* carryOut(work, record, plan.fates)
  if (plan.isPiece) return 'again'
  return plan.fates.length > 0 ? 'all' : 'nothing'
}

/**
 * In an entity with sessions, the expiry of one waiting message expires all waiting messages of its session (SES-01,
 * SES-06). It comes after ends of locks and activations, in a transaction of its own: what came back or was activated
 * before it waits too, and goes with the others.
 */
function* applyInSessions(
  work: Work,
  place: EntityPlace,
  listening: Listening,
): Procedure<Applied> {
  if (isDue(work, place)) {
    const piece = yield* gatherPiece(work, place.record)
    yield* carryOut(work, place.record, piece.fates)
    if (piece.left <= 0) return 'again'
    if (piece.hasChanged) return listening === 'nobody' ? 'all' : 'again'
  }
  if (listening === 'nobody' || !isPast(place.expiresMs, work.time.storeMs)) return 'nothing'
  return yield* expireSessions(work, place, listening)
}

/** What is due in a piece: `left` counts down from the most that it may hold. */
class Piece {
  readonly fates: Fate[] = []
  left: number = MAX_MESSAGES
  hasChanged = false
}

function* gatherPiece(work: Work, entity: EntityRecord): Procedure<Piece> {
  const piece = new Piece()
  const expiring = yield* ask('expiringSessions', entity.number, MAX_SESSIONS)
  for (const session of expiring) yield* expireWaiting(work, entity, session, piece)
  const ended = yield* ask('endedSessions', entity.number, work.time.lockMs, MAX_SESSIONS)
  for (const session of ended) yield* endHold(work, entity, session, piece)
  if (piece.left > 0) {
    const due = yield* ask('dueRows', entity.number, work.time, piece.left)
    piece.fates.push(
      ...due.map((row): Fate => ({ kind: 'activates', row: activated(row, entity) })),
    )
    piece.left -= due.length
    piece.hasChanged ||= due.length > 0
  }
  if (Math.max(expiring.length, ended.length) >= MAX_SESSIONS) piece.left = 0
  return piece
}

/** A lock that has ended by time gives its messages back, each with one more delivery (SES-15). */
function* endHold(
  work: Work,
  entity: EntityRecord,
  session: SessionRow,
  piece: Piece,
): Procedure<void> {
  if (piece.left <= 0 || session.lock === undefined) return
  const rows = yield* ask('sessionRows', {
    entity: entity.number,
    session: session.session,
    which: 'locked',
    lock: session.lock,
    max: piece.left,
  })
  const storeMs = storeMsAtLockEnd(session.lockedUntilMs, work.time)
  piece.fates.push(...rows.map((row) => returned(row, entity, { storeMs, counts: 'delivery' })))
  piece.left -= rows.length
  piece.hasChanged = true
  if (piece.left <= 0) return
  yield* work.changeSession({ ...session, lock: undefined, lockedUntilMs: 0 })
  work.touches(entity.number)
}

/** Carries out an expiry that is stored in the session's row. */
function* expireWaiting(
  work: Work,
  entity: EntityRecord,
  session: SessionRow,
  piece: Piece,
): Procedure<void> {
  if (piece.left <= 0) return
  const rows = yield* ask('sessionRows', {
    entity: entity.number,
    session: session.session,
    which: 'waiting',
    through: session.expiredThrough,
    max: piece.left,
  })
  piece.fates.push(...rows.map((row) => expire(row, entity)))
  piece.left -= rows.length
  piece.hasChanged = true
  // Once all are gone the mark goes, too: what was locked or deferred then has not expired with them (SES-04, SES-05).
  yield* work.changeSession({
    ...session,
    expiredThrough: piece.left > 0 ? 0 : session.expiredThrough,
  })
}

function* expireSessions(
  work: Work,
  place: EntityPlace,
  listening: Exclude<Listening, 'nobody'>,
): Procedure<Applied> {
  const { record } = place
  const { storeMs } = work.time
  const sessions =
    listening === 'everything'
      ? yield* ask('expiredSessions', record.number, storeMs, MAX_SESSIONS)
      : [listening.session]
  const piece = new Piece()
  for (const name of sessions) {
    const session = yield* work.session(record.number, name)
    const request = { entity: record.number, session: name, storeMs, max: 1 }
    // Another transaction may have expired it before this one held it.
    if ((yield* ask('expiredRows', request)).length === 0) continue
    // From here on it has expired for everybody, however long it takes to carry it out.
    const marked = { ...session, expiredThrough: place.next - 1 }
    if (piece.left > 0) yield* expireWaiting(work, record, marked, piece)
    else yield* work.changeSession(marked)
  }
  yield* carryOut(work, record, piece.fates)
  // Only the first to expire were looked at: there may be others.
  if (piece.left <= 0 || (listening === 'everything' && sessions.length > 0)) return 'again'
  return piece.hasChanged ? 'all' : 'nothing'
}

function isDue({ time }: Work, { dueMs }: EntityPlace): boolean {
  return isPast(dueMs, Math.max(time.storeMs, time.lockMs))
}

function isPast(atMs: number | undefined, nowMs: number): boolean {
  return atMs !== undefined && atMs <= nowMs
}
