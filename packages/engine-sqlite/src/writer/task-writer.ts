import { commitChars } from '@tidemark/store/engine'
import type { MessageCommand } from '@tidemark/store/messages'
import { errorFromPortable } from '../connection/sqlite-error.ts'
import type { WriterResult, WriterTask } from './writer-messages.ts'

/** The caller's end of a writer. */
export interface TaskWriter {
  /** Rejects with ERR_STORE_CLOSED, or ERR_STORE_UNAVAILABLE when too many requests are waiting. */
  request(task: WriterTask, nowMs: number): Promise<WriterResult>
  /**
   * `request` for each of them, in this order, with one promise: one entry each, with the error that would reject it.
   * Rejects as `request` does when none was accepted.
   */
  requestEach(
    tasks: readonly WriterTask[],
    nowMs: number,
  ): Promise<readonly (WriterResult | Error)[]>
  /** Resolves when all that was answered before is on disk. Absent where there is none. */
  flush?(): Promise<void>
  /** Carries out the accepted requests, then ends the writer. */
  close(): Promise<void>
}

/** How what became of a request is handed on. */
export interface Settling {
  resolve(result: WriterResult): void
  reject(error: Error): void
}

/** Resolves when all of `tasks` are settled, each by what `accept` is given for it. */
export function settledEach(
  tasks: readonly WriterTask[],
  accept: (task: WriterTask, settling: Settling) => void,
): Promise<readonly (WriterResult | Error)[]> {
  const { promise, resolve } = Promise.withResolvers<readonly (WriterResult | Error)[]>()
  const results: (WriterResult | Error)[] = []
  let left = tasks.length
  if (left === 0) resolve(results)
  for (const [index, task] of tasks.entries()) {
    const settle = (result: WriterResult | Error): void => {
      results[index] = result
      if (--left === 0) resolve(results)
    }
    accept(task, { resolve: (result) => settle(succeeded(result)), reject: settle })
  }
  return promise
}

/** The result, or the error that it stands for. */
function succeeded(result: WriterResult): WriterResult | Error {
  return result.kind === 'failed' ? errorFromPortable(result.error) : result
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
