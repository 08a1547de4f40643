import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure } from '../message-rows.ts'
import { applyDue } from './apply-due.ts'
import type { Work } from './work.ts'

/** Shows messages in the order of numbers, also locked, deferred, scheduled and expired ones (SET-09). It does not listen. */
export function* peekMessages(
  work: Work,
  place: EntityPlace,
  { session, fromNumber, max, maxBytes }: CommandOf<'peek'>,
): Procedure<CommandAnswers['peek']> {
  if ((yield* applyDue(work, place, 'nobody')) === 'again') return { kind: 'again' }
  const messages = yield* ask('peek', {
    entity: place.record.number,
    session,
    fromNumber,
    max,
    maxBytes,
  })
  return {
    kind: 'peeked',
    messages: messages.map((message) => ({ ...message, isLocked: message.lock !== undefined })),
    next: place.next,
  }
}

export function* countMessages(work: Work, place: EntityPlace): Procedure<CommandAnswers['count']> {
  if ((yield* applyDue(work, place, 'nobody')) === 'again') return { kind: 'again' }
  const counts = yield* ask('count', place.record.number, work.time.storeMs)
  return { kind: 'counted', counts }
}
