import type { Again, Listening, Refusal, SessionHold } from '../message-commands.ts'
import type { EntityPlace, Procedure, SessionRow } from '../message-rows.ts'
import { holdsSession } from '../rules/lock-rules.ts'
import { applyDue } from './apply-due.ts'
import type { Work } from './work.ts'

/** Locks the session's row, applies what is due, and gives the row if this hold of it has not ended. */
export function* heldSession(
  work: Work,
  place: EntityPlace,
  hold: SessionHold,
  listening: Listening,
): Procedure<SessionRow | Refusal | Again> {
  const { number, settings } = place.record
  if (!settings.requiresSession) return { kind: 'refused', reason: 'otherSessionUse' }
  const before = yield* work.session(number, hold.session)
  // Only who holds the session listens to it.
  const listens = holdsSession(before, hold.lock, work.time.lockMs) ? listening : 'nobody'
  if ((yield* applyDue(work, place, listens)) === 'again') return { kind: 'again' }
  const session = yield* work.session(number, hold.session)
  if (!holdsSession(session, hold.lock, work.time.lockMs)) {
    return { kind: 'refused', reason: 'sessionLockLost' }
  }
  // Another transaction was carrying out an expiry of this session until now.
  return session.expiredThrough > 0 ? { kind: 'again' } : session
}
