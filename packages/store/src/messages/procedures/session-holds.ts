import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure } from '../message-rows.ts'
import { lockEndMs, returned } from '../rules/lock-rules.ts'
import { carryOut } from './carry-out.ts'
import { heldSession } from './held-session.ts'
import type { Work } from './work.ts'

/** Messages that one transaction gives back. */
const MAX_MESSAGES = 200

export function* renewSession(
  work: Work,
  place: EntityPlace,
  { hold }: CommandOf<'renewSession'>,
): Procedure<CommandAnswers['renewSession']> {
  const session = yield* heldSession(work, place, hold, 'nobody')
  if ('kind' in session) return session
  const lockedUntilMs = lockEndMs(place.record, work.time)
  yield* work.changeSession({ ...session, lockedUntilMs })
  return { kind: 'renewed', lockedUntilMs }
}

/** Ends a hold. Its messages come back without a delivery being counted (SES-11); those that have expired expire. */
export function* releaseSession(
  work: Work,
  place: EntityPlace,
  { hold }: CommandOf<'releaseSession'>,
): Procedure<CommandAnswers['releaseSession']> {
  const session = yield* heldSession(work, place, hold, 'nobody')
  if ('kind' in session) return session
  const { record } = place
  const rows = yield* ask('sessionRows', {
    entity: record.number,
    session: hold.session,
    which: 'locked',
    lock: hold.lock,
    max: MAX_MESSAGES,
  })
  const { storeMs } = work.time
  const fates = rows.map((row) => returned(row, record, { storeMs, counts: 'nothing' }))
  const isPiece = rows.length >= MAX_MESSAGES
  if (!isPiece) yield* work.changeSession({ ...session, lock: undefined, lockedUntilMs: 0 })
  yield* carryOut(work, record, fates)
  work.touches(record.number)
  return isPiece ? { kind: 'again' } : { kind: 'released' }
}
