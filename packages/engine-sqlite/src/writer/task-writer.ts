import { commitChars } from '@tidemark/store/engine'
import type { WriterResult, WriterTask } from './writer-messages.ts'

/** The caller's end of a writer. */
export interface TaskWriter {
  /** Rejects with ERR_STORE_CLOSED, or ERR_STORE_UNAVAILABLE when too many requests are waiting. */
  request(task: WriterTask, nowMs: number): Promise<WriterResult>
  /** Carries out the accepted requests, then ends the writer. */
  close(): Promise<void>
}

/** Characters of the texts that a task writes. */
export function textChars(task: WriterTask): number {
  return task.kind === 'commit' ? commitChars(task.batches) : 0
}
