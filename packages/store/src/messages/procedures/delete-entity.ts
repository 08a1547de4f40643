import type { EntityRecord } from '../entities.ts'
import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type Procedure } from '../message-rows.ts'
import { LATEST_MS } from '../rules/effective-ttl.ts'
import { isIdle } from '../rules/idle-entity.ts'
import type { Work } from './work.ts'

/** An entity with more scheduled messages is in use. */
const MAX_SCHEDULED = 200

/**
 * Deletes an entity with its dead-letter queue, a topic with its subscriptions (TMP-12). With `idle`, only if it is idle
 * while nobody else can change or stamp it: brokers may know an old stamp.
 */
export function* deleteEntity(
  work: Work,
  { entity, when }: CommandOf<'delete'>,
): Procedure<CommandAnswers['delete']> {
  const place = yield* ask('readPlace', entity, { hold: false })
  if (place === undefined) return { kind: 'refused', reason: 'gone' }
  const { kind, parent } = place.record
  if (kind === 'deadLetter') return { kind: 'refused', reason: 'notAllowed' }
  yield* work.hold(parent === undefined ? [entity] : [parent, entity])
  const record = work.held(entity)
  if (record === undefined) return { kind: 'refused', reason: 'gone' }
  if (when === 'idle' && !(yield* isIdleNow(work, record))) return { kind: 'inUse' }
  const numbers = [entity]
  for (const child of yield* ask('childrenOf', entity)) {
    numbers.push(child.number)
    if (child.kind !== 'subscription') continue
    const below = yield* ask('childrenOf', child.number)
    numbers.push(...below.map(({ number }) => number))
  }
  if (parent !== undefined) {
    const bytes = yield* ask('readBytes', entity)
    if (bytes !== 0) yield* ask('addBytes', parent, -bytes)
    yield* ask('raiseVersion', parent)
    if (when === 'always') yield* ask('touch', parent, work.time.lockMs)
    work.touches(parent)
  }
  yield* ask(
    'dropEntities',
    numbers.sort((a, b) => a - b),
  )
  for (const number of numbers) work.touches(number)
  return { kind: 'deleted' }
}

function* isIdleNow(work: Work, record: EntityRecord): Procedure<boolean> {
  const { lockMs, storeMs } = work.time
  if (!isIdle(record, { lockMs, scheduledMs: undefined, isForwardedTo: false })) return false
  const ever = { storeMs: LATEST_MS, lockMs: 0 }
  const rows = yield* ask('dueRows', record.number, ever, MAX_SCHEDULED)
  // Some are enqueued first, when somebody looks.
  if (rows.length >= MAX_SCHEDULED) return false
  const last = rows.at(-1)?.dueMs
  const scheduledMs = last === undefined ? undefined : lockMs + (last - storeMs)
  const isForwardedTo = yield* ask('isForwardedTo', record.path)
  return isIdle(record, { lockMs, scheduledMs, isForwardedTo })
}
