import type { EntityPlace, MessageRow, Procedure } from '../message-rows.ts'
import { applyDue } from './apply-due.ts'
import type { Work } from './work.ts'

/**
 * Rows as they are once what is due has been applied. They are waited for before that: afterwards counters may be in hand,
 * and nothing is waited for any more. So a command does its own work in the same transaction, however often something is
 * due. `again`: a piece of it was applied.
 */
export function* rowsAfterDue(
  work: Work,
  place: EntityPlace,
  read: () => Procedure<readonly MessageRow[]>,
): Procedure<readonly MessageRow[] | 'again'> {
  const held = yield* read()
  const applied = yield* applyDue(work, place, 'nobody')
  if (applied === 'again') return 'again'
  return applied === 'nothing' ? held : yield* read()
}
