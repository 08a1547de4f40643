import { performCommand, runProcedure } from '@tidemark/store/messages'
import type { TransactionState } from './transaction-state.ts'
import type { WriterResult, WriterTask } from './writer-messages.ts'

/** Carries out a command on messages inside the group's transaction. */
export function performMessages(
  state: TransactionState,
  { command, caller }: Extract<WriterTask, { kind: 'messages' }>,
): WriterResult {
  const rows = state.messages()
  const procedure = performCommand(command, { storeMs: state.timeMs, caller })
  const { answer, time, touched } = runProcedure(procedure, rows)
  const hasWritten = rows.takeWritten()
  if (hasWritten) state.wroteNow()
  const isNews = hasWritten && touched.length > 0
  return {
    kind: 'performed',
    answer,
    time,
    touched: isNews ? touched : [],
    news: isNews ? rows.addNews() : rows.news(),
  }
}
