import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure } from '../message-rows.ts'
import { applyDue } from './apply-due.ts'
import { heldSession } from './held-session.ts'
import type { Work } from './work.ts'

export function* readSessionState(
  work: Work,
  place: EntityPlace,
  { hold }: CommandOf<'readSessionState'>,
): Procedure<CommandAnswers['readSessionState']> {
  const session = yield* heldSession(work, place, hold, 'nobody')
  return 'kind' in session ? session : { kind: 'state', state: session.state }
}

/** At most one message in size; counts towards the entity's size (SES-13). */
export function* setSessionState(
  work: Work,
  place: EntityPlace,
  { hold, state }: CommandOf<'setSessionState'>,
): Procedure<CommandAnswers['setSessionState']> {
  const session = yield* heldSession(work, place, hold, 'nobody')
  if ('kind' in session) return session
  const { record } = place
  const { maxBytes, maxMessageBytes } = record.settings
  const bytes = state?.byteLength ?? 0
  if (bytes > maxMessageBytes) return { kind: 'tooLarge' }
  const added = bytes - (session.state?.byteLength ?? 0)
  if (added > 0) {
    const held = (yield* ask('readBytes', record.number)) + work.addedBytes(record.number)
    if (held + added > maxBytes) return { kind: 'full' }
  }
  yield* work.changeSession({ ...session, state, updatedMs: work.time.storeMs })
  work.addBytes(record, added)
  return { kind: 'stored' }
}

/** Sessions with messages or a state (SES-13). */
export function* listSessions(
  work: Work,
  place: EntityPlace,
  { after, max }: CommandOf<'listSessions'>,
): Procedure<CommandAnswers['listSessions']> {
  const { number, settings } = place.record
  if (!settings.requiresSession) return { kind: 'refused', reason: 'otherSessionUse' }
  if ((yield* applyDue(work, place, 'nobody')) === 'again') return { kind: 'again' }
  return { kind: 'sessions', sessions: yield* ask('listSessions', number, after, max) }
}
