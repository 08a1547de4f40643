import { assertNever } from '@tidemark/contracts/internal'
import type { EntityRecord } from '../entities.ts'
import type { Outcome } from '../message-commands.ts'
import { DEFERRED, type MessageRow } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'
import { returned, unlocked } from './lock-rules.ts'
import { changedRow } from './message-changes.ts'
import type { Fate } from './message-fate.ts'

/**
 * What the holder of a message's lock makes of it. An expired message is settled like any other (EXP-08, EXP-17), except
 * that it does not come back. Dead-lettering out of a dead-letter queue is not allowed (SET-04). Deferring counts no
 * delivery. Changes that would make the message larger than the entity takes are refused (SET-20).
 */
export function settledFate(
  row: MessageRow,
  entity: EntityRecord,
  outcome: Outcome,
  { storeMs }: MessageTime,
): Fate | 'notAllowed' | 'tooLarge' {
  const changed = 'changes' in outcome ? changedRow(row, outcome.changes) : row
  const { maxMessageBytes } = entity.settings
  if (changed.bytes > row.bytes && changed.bytes > maxMessageBytes) return 'tooLarge'
  switch (outcome.kind) {
    case 'complete':
      return { kind: 'goes', row }
    case 'abandon':
      return returned(changed, entity, { storeMs, counts: 'delivery' })
    case 'release':
      return returned(row, entity, { storeMs, counts: 'nothing' })
    case 'defer':
      return { kind: 'stays', row: { ...unlocked(changed), state: DEFERRED } }
    case 'deadLetter': {
      if (entity.kind === 'deadLetter') return 'notAllowed'
      const { reason, description } = outcome
      return { kind: 'dies', row: changed, reason: { reason, description } }
    }
    default:
      return assertNever(outcome)
  }
}
