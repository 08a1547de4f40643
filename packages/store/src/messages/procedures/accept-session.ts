import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure, type SessionRow } from '../message-rows.ts'
import { refusesReceive } from '../rules/entity-status.ts'
import { isHeld, lockEndMs } from '../rules/lock-rules.ts'
import { applyDue } from './apply-due.ts'
import type { Work } from './work.ts'

/**
 * Holds a session. One that is named may be empty (SES-12), and is refused while somebody holds it (SES-11). Otherwise the
 * next free one with messages; all sessions are judged before, so one that expiry empties is not offered (SES-12).
 */
export function* acceptSession(
  work: Work,
  place: EntityPlace,
  { lock, session: wanted }: CommandOf<'acceptSession'>,
): Procedure<CommandAnswers['acceptSession']> {
  const { record } = place
  const reason = refusesReceive(record, 'session')
  if (reason !== undefined) return { kind: 'refused', reason }
  const found =
    'named' in wanted
      ? yield* namedSession(work, place, wanted.named)
      : yield* nextSession(work, place, wanted.after)
  if (typeof found === 'string') return { kind: found }
  const lockedUntilMs = lockEndMs(record, work.time)
  yield* work.changeSession({ ...found, lock, lockedUntilMs })
  return { kind: 'accepted', session: found.session, lockedUntilMs }
}

function* namedSession(
  work: Work,
  place: EntityPlace,
  session: string,
): Procedure<SessionRow | 'again' | 'taken'> {
  const { number } = place.record
  yield* work.session(number, session)
  if ((yield* applyDue(work, place, { session })) === 'again') return 'again'
  const row = yield* work.session(number, session)
  if (isHeld(row, work.time.lockMs)) return 'taken'
  return canBeHeld(row) ? row : 'again'
}

function* nextSession(
  work: Work,
  place: EntityPlace,
  after: string,
): Procedure<SessionRow | 'again' | 'none'> {
  const { number } = place.record
  const { lockMs } = work.time
  // Two who hold sessions that expired, and look for free ones, would wait for each other.
  if ((yield* applyDue(work, place, 'everything')) !== 'nothing') return 'again'
  const row =
    (yield* ask('nextSession', number, after, lockMs)) ??
    (after === '' ? undefined : yield* ask('nextSession', number, '', lockMs))
  if (row === undefined) return 'none'
  return canBeHeld(row) ? row : 'again'
}

/** What its last holder had, or what has expired with it, must be out of it first: the next transaction does that. */
function canBeHeld({ lock, expiredThrough }: SessionRow): boolean {
  return lock === undefined && expiredThrough === 0
}
