import type { DocumentBody, Fence, FeedRange } from '@tidemark/contracts'
import type { ArchivedDocument } from './archived-document.ts'

/** The origin of a batch. */
export interface SinkContext {
  /** For people: the collection's path. */
  readonly source: string
  /** Batches of one range arrive one after the other, in LSN order. */
  readonly range: FeedRange
  /** A sink that remembers the highest epoch of a range can refuse an older one: its worker is stale. */
  readonly fence: Fence
  /** Aborted when the worker must stop or has lost the range; what is not durable by then is sent again. */
  readonly signal: AbortSignal
}

/**
 * Stores archived documents. Documents are removed after `write` has resolved, so it must not resolve before they are
 * durable. After a crash or a rejection, a batch is sent again; collection, partition key, id and LSN identify each
 * version.
 */
export interface Sink<T extends DocumentBody = DocumentBody> {
  write(batch: readonly ArchivedDocument<T>[], context: SinkContext): Promise<void>
  /**
   * Checks what was written: one result per document, in order, true only if all of it is there as given.
   * `archiveDocuments` removes no document without it.
   */
  verify?(batch: readonly ArchivedDocument<T>[], context: SinkContext): Promise<readonly boolean[]>
}
