import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import {
  ask,
  SCHEDULED,
  type EntityPlace,
  type MessageRow,
  type Procedure,
} from '../message-rows.ts'
import type { Fate } from '../rules/message-fate.ts'
import { applyDue } from './apply-due.ts'
import { carryOut } from './carry-out.ts'
import type { Work } from './work.ts'

/** Deletes scheduled messages whose instant has not come (SCH-04), or none if one of the numbers is not that of such a one. */
export function* cancelScheduled(
  work: Work,
  place: EntityPlace,
  { numbers }: CommandOf<'cancel'>,
): Procedure<CommandAnswers['cancel']> {
  const { record } = place
  // Rows are waited for below, which must not happen with counters in hand.
  if ((yield* applyDue(work, place, 'nobody')) !== 'nothing') return { kind: 'again' }
  const found = new Map<number, MessageRow>()
  for (const row of yield* ask('rowsByNumber', record.number, numbers)) found.set(row.number, row)
  const fates: Fate[] = []
  for (const number of new Set(numbers)) {
    const row = found.get(number)
    if (row === undefined || !isPending(row, work.time.storeMs)) return { kind: 'notFound', number }
    fates.push({ kind: 'goes', row })
  }
  yield* carryOut(work, record, fates)
  return { kind: 'cancelled' }
}

/** A message whose instant has come is as good as enqueued, also one that a topic's rules have not judged yet. */
function isPending({ state, dueMs }: MessageRow, storeMs: number): boolean {
  return state === SCHEDULED && dueMs !== undefined && dueMs > storeMs
}
