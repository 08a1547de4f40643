import type { DocumentBody, Fence, FeedRange } from '@tidemark/contracts'
import type { ArchivedDocument } from './archived-document.ts'

/** Whose batch it is. */
export interface SinkContext {
  /** For people: the collection's path. */
  readonly source: string
  /** Batches of one range come one after the other, in LSN order. */
  readonly range: FeedRange
  /** A sink that remembers the highest epoch of a range may refuse an older one: its worker is late. */
  readonly fence: Fence
  /** Aborted when the worker is to end or has lost the range; what is not durable then comes again. */
  readonly signal: AbortSignal
}

/**
 * Where archived documents go. Documents are removed only after `write` has resolved, so that it must
 * not resolve before they are durable. A batch comes again after a crash or a rejection: at least once,
 * told apart by collection, partition key, id and LSN.
 */
export interface Sink<T extends DocumentBody = DocumentBody> {
  write(batch: readonly ArchivedDocument<T>[], context: SinkContext): Promise<void>
  /**
   * Reads back what was written: one answer a document, in order, true only if all of it is there as
   * given. `archiveDocuments` removes no document without it.
   */
  verify?(batch: readonly ArchivedDocument<T>[], context: SinkContext): Promise<readonly boolean[]>
}
