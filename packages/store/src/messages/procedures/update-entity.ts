import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type Procedure } from '../message-rows.ts'
import { deadLetterDefinition } from '../rules/dead-letter-queue.ts'
import type { Work } from './work.ts'

/**
 * Writes a new definition. What was judged by the old version is judged again; a subscription's change is one of its topic.
 * Messages keep the expiry that they have (EXP-22). An update is activity (TMP-09). Whether there are sessions never changes.
 */
export function* updateEntity(
  work: Work,
  { entity, version, definition }: CommandOf<'update'>,
): Procedure<CommandAnswers['update']> {
  const place = yield* ask('readPlace', entity, { hold: false })
  if (place === undefined) return { kind: 'refused', reason: 'gone' }
  const { kind, parent, settings } = place.record
  if (kind === 'deadLetter' || settings.requiresSession !== definition.settings.requiresSession) {
    return { kind: 'refused', reason: 'notAllowed' }
  }
  const queue = kind === 'topic' ? undefined : yield* work.deadLetterQueueOf(entity)
  yield* work.hold([parent, entity, queue].filter((number) => number !== undefined))
  const held = work.held(entity)
  if (held === undefined) return { kind: 'refused', reason: 'gone' }
  if (held.version !== version) return { kind: 'refused', reason: 'stale' }
  const { storeMs, lockMs } = work.time
  const changed = yield* ask('changeEntity', entity, definition, storeMs)
  work.touches(entity)
  if (queue !== undefined) {
    yield* ask('changeEntity', queue, deadLetterDefinition(definition.settings), storeMs)
    work.touches(queue)
  }
  if (parent !== undefined) {
    yield* ask('raiseVersion', parent)
    yield* ask('touch', parent, lockMs)
    work.touches(parent)
  }
  yield* ask('touch', entity, lockMs)
  return {
    kind: 'updated',
    entity: { ...changed, accessedMs: Math.max(changed.accessedMs, lockMs) },
  }
}
