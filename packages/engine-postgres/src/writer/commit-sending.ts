import { sendTogether, type CommitSends } from '@tidemark/store/messages'
import { undoable } from '../connection/undoable.ts'
import type { PostgresMessages } from '../messages/postgres-messages.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { writeAtOnce, writeInTurn, type CommitInTransaction } from './commit-in-turn.ts'
import type { GroupOutcome } from './group-statement.ts'

export interface CommitSendingParts extends CommitInTransaction {
  readonly sends: CommitSends
  /** Whether its batches name one document more than once. */
  readonly isRepeated: boolean
  readonly messages: Pick<PostgresMessages, 'commit'>
}

/**
 * A commit with messages, as one transaction: first the documents, so segments and fences are locked before counters of
 * entities, as everywhere. Undefined: a segment is closed, and nothing was done.
 */
export function commitSending(
  context: ReadContext,
  { sends, isRepeated, messages, ...commit }: CommitSendingParts,
): Promise<GroupOutcome | undefined> {
  const write = isRepeated ? writeInTurn : writeAtOnce
  return undoable<GroupOutcome | undefined>(async (undo) => {
    const { group } = await messages.commit({}, async ({ sql, perform }) => {
      const written = await write(sql, context, commit)
      if (written?.outcome.kind !== 'committed') return undo(written)
      const { outcome, touched: ranges } = written
      const sent = await perform(sendTogether(sends, outcome.timeMs))
      if (sent.kind === 'notSent') return undo({ outcome: sent, touched: [] })
      const { time, touched } = sent
      return { group: { outcome: { ...outcome, sentAt: time }, touched: ranges }, time, touched }
    })
    return group
  })
}
