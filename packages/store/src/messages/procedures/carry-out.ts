import { StoreDamagedError } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { EntityRecord } from '../entities.ts'
import { ask, type MessageRow, type Procedure } from '../message-rows.ts'
import { deadLettered } from '../rules/enqueued-rows.ts'
import { isWaiting } from '../rules/expiry-of-messages.ts'
import type { Fate } from '../rules/message-fate.ts'
import type { Work } from './work.ts'

/**
 * Does what rules have decided for messages of one entity, in the order of the list: so numbers rise in this order, here
 * and in the dead-letter queue. Asked for after the last request for rows. Of a message with two fates, the last counts.
 */
export function* carryOut(
  work: Work,
  entity: EntityRecord,
  fates: readonly Fate[],
): Procedure<void> {
  if (fates.length === 0) return
  const deadLetterQueue = yield* holdFor(work, entity, fates)
  const rows = new Map<number, MessageRow>()
  const gone = new Map<number, MessageRow>()
  for (const fate of fates) {
    const row = decided(work, fate, { entity, deadLetterQueue, before: rows.get(fate.row.id) })
    if (row === undefined) {
      rows.delete(fate.row.id)
      gone.set(fate.row.id, fate.row)
    } else rows.set(row.id, row)
    countBytes(work, entity, fate, row)
    noteTouched(work, fate, row)
  }
  if (rows.size > 0) yield* ask('change', [...rows.values()])
  if (gone.size > 0) yield* ask('remove', [...gone.keys()])
}

/** The dead-letter queue, if one is needed and there. */
function* holdFor(
  work: Work,
  entity: EntityRecord,
  fates: readonly Fate[],
): Procedure<EntityRecord | undefined> {
  const numbers = new Set<number>()
  if (fates.some(({ kind }) => kind === 'activates')) numbers.add(entity.number)
  const isNeeded = fates.some(({ kind }) => kind === 'dies')
  const queue = isNeeded ? yield* work.deadLetterQueueOf(entity.number) : undefined
  if (queue !== undefined) numbers.add(queue)
  yield* work.hold(numbers)
  const held = queue === undefined ? undefined : work.held(queue)
  const isGone = isNeeded && held === undefined
  if (isGone && (yield* ask('readPlace', entity.number, { hold: false })) !== undefined) {
    throw new StoreDamagedError(`the entity '${entity.path}' has no dead-letter queue`)
  }
  return held
}

/** The new row; undefined: none. An entity that is being deleted takes its messages with it, whatever was decided. */
function decided(
  work: Work,
  { row, ...fate }: Fate,
  given: {
    readonly entity: EntityRecord
    readonly deadLetterQueue: EntityRecord | undefined
    /** What an earlier fate has made of it. */
    readonly before: MessageRow | undefined
  },
): MessageRow | undefined {
  const { entity, deadLetterQueue: queue, before } = given
  switch (fate.kind) {
    case 'stays':
      return row
    case 'activates': {
      if (work.held(row.entity) === undefined) return undefined
      const number = work.nextNumber(row.entity)
      work.noteEnqueued(entity, row.enqueuedMs)
      return { ...row, number, firstNumber: number }
    }
    case 'goes':
      return undefined
    case 'dies': {
      if (queue === undefined) return undefined
      const number = work.nextNumber(queue.number)
      const at = { deadLetterQueue: queue.number, number, storeMs: work.time.storeMs }
      const firstNumber = before?.firstNumber ?? row.firstNumber
      const hops = fate.onItsWay === true ? row.hops : 0
      return deadLettered({ ...row, firstNumber, hops }, fate.reason, at)
    }
    default:
      return assertNever(fate)
  }
}

function countBytes(
  work: Work,
  entity: EntityRecord,
  { row: { bytes }, kind }: Fate,
  row: MessageRow | undefined,
): void {
  if (row === undefined || kind === 'dies') work.addBytes(entity, -bytes)
  if (row !== undefined && kind === 'dies') {
    const queue = work.held(row.entity)
    if (queue !== undefined) work.addBytes(queue, row.bytes)
  }
}

function noteTouched(work: Work, { kind }: Fate, row: MessageRow | undefined): void {
  if (row !== undefined && (kind !== 'stays' || isWaiting(row))) work.touches(row.entity)
}
