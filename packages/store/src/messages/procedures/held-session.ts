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
  yield* work.session(number, hold.session)
  if ((yield* applyDue(work, place, listening)) === 'again') return { kind: 'again' }
  const session = yield* work.session(number, hold.session)
  if (!holdsSession(session, hold.lock, work.time.lockMs)) {
    return { kind: 'refused', reason: 'sessionLockLost' }
  }
  // Another transaction was carrying out an expiry of this session until now.
  return session.expiredThrough > 0 ? { kind: 'again' } : session
}
