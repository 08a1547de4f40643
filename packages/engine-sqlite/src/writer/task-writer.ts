import { commitChars } from '@tidemark/store/engine'
import type { MessageCommand } from '@tidemark/store/messages'
import type { WriterResult, WriterTask } from './writer-messages.ts'

/** The caller's end of a writer. */
export interface TaskWriter {
  /** Rejects with ERR_STORE_CLOSED, or ERR_STORE_UNAVAILABLE when too many requests are waiting. */
  request(task: WriterTask, nowMs: number): Promise<WriterResult>
  /** Resolves when all that was answered before is on disk. Absent where there is none. */
  flush?(): Promise<void>
  /** Carries out the accepted requests, then ends the writer. */
  close(): Promise<void>
}

/** Characters of the texts that a task writes. */
export function textChars(task: WriterTask): number {
  if (task.kind === 'messages') return messageChars(task.command)
  if (task.kind !== 'commit') return 0
  const { batches, sends } = task
  const chars = commitChars(batches)
  return sends === undefined
    ? chars
    : sends.commands.reduce((sum, command) => sum + messageChars(command), chars)
}

function messageChars(command: MessageCommand): number {
  if (command.kind !== 'send') return 0
  let chars = 0
  for (const { messages } of command.parcels) {
    for (const { head, body } of messages) chars += head.length + body.byteLength
  }
  return chars
}
