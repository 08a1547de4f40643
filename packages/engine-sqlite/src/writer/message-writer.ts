import {
  performCommand,
  runProcedure,
  sendTogether,
  type CommitSends,
  type MessageTime,
  type NotSent,
} from '@tidemark/store/messages'
import type { MessageRows } from '../messages/message-rows.ts'
import type { MessageNews } from '../messages/sqlite-messages.ts'
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
  return { kind: 'performed', answer, time, ...newsOf(state, rows, touched) }
}

/** Carries out the sends of a commit inside the group's transaction. When one is refused, nothing of any is left. */
export function sendMessages(
  state: TransactionState,
  sends: CommitSends,
): NotSent | { readonly kind: 'sent'; readonly time: MessageTime; readonly messages: MessageNews } {
  const { connection } = state
  const rows = state.messages()
  connection.exec('SAVEPOINT sends')
  const result = runProcedure(sendTogether(sends, state.timeMs), rows)
  if (result.kind === 'notSent') {
    connection.exec('ROLLBACK TO sends')
    // What these rows remember may be undone.
    state.forgetMessages()
  }
  connection.exec('RELEASE sends')
  if (result.kind === 'notSent') return result
  const { time, touched } = result
  return { kind: 'sent', time, messages: newsOf(state, rows, touched) }
}

/** Counts what was written as news, if it touched something for listeners. */
function newsOf(
  state: TransactionState,
  rows: MessageRows,
  touched: readonly number[],
): MessageNews {
  const hasWritten = rows.takeWritten()
  if (hasWritten) state.wroteNow()
  const isNews = hasWritten && touched.length > 0
  return { touched: isNews ? touched : [], news: isNews ? rows.addNews() : rows.news() }
}
