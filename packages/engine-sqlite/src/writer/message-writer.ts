import {
  performCommand,
  runProcedure,
  sendTogether,
  type CommandResult,
  type CommitSends,
  type MessageTime,
  type NotSent,
} from '@tidemark/store/messages'
import type { MessageNews } from '../messages/sqlite-messages.ts'
import type { TransactionState } from './transaction-state.ts'
import type { WriterResult, WriterTask } from './writer-messages.ts'

/** Carries out a command on messages inside the group's transaction. Of commands together, all or none. */
export function performMessages(
  state: TransactionState,
  { command, caller }: Extract<WriterTask, { kind: 'messages' }>,
): WriterResult {
  const rows = state.messages()
  const perform = (): CommandResult & { readonly time: MessageTime } =>
    runProcedure(performCommand(command, { storeMs: state.timeMs, caller }), rows)
  const { answer, time, touched } =
    command.kind === 'together'
      ? undoable(state, perform, (result) => result.answer.kind === 'notDone')
      : perform()
  return { kind: 'performed', answer, time, ...newsOf(state, touched) }
}

/** Carries out the sends of a commit inside the group's transaction. When one is refused, nothing of any is left. */
export function sendMessages(
  state: TransactionState,
  sends: CommitSends,
): NotSent | { readonly kind: 'sent'; readonly time: MessageTime; readonly messages: MessageNews } {
  const rows = state.messages()
  const result = undoable(
    state,
    () => runProcedure(sendTogether(sends, state.timeMs), rows),
    ({ kind }) => kind === 'notSent',
  )
  if (result.kind === 'notSent') return result
  const { time, touched } = result
  return { kind: 'sent', time, messages: newsOf(state, touched) }
}

/** Takes back what `act` has written when its result says so. */
function undoable<Result>(
  state: TransactionState,
  act: () => Result,
  isUndone: (result: Result) => boolean,
): Result {
  const { connection } = state
  connection.exec('SAVEPOINT together')
  const result = act()
  if (isUndone(result)) {
    connection.exec('ROLLBACK TO together')
    // What these rows remember may be undone.
    state.forgetMessages()
  }
  connection.exec('RELEASE together')
  return result
}

/** Counts what was written as news, if it touched something for listeners. */
function newsOf(state: TransactionState, touched: readonly number[]): MessageNews {
  const rows = state.messages()
  const hasWritten = rows.takeWritten()
  if (hasWritten) state.wroteNow()
  const isNews = hasWritten && touched.length > 0
  return { touched: isNews ? touched : [], news: isNews ? rows.addNews() : rows.news() }
}
