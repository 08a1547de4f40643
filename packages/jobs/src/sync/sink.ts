import { type Fence, type FeedRange } from '@tidemark/contracts'
import { optionHaving, requiredOption, type OptionRule } from '@tidemark/contracts/internal'
import type { SinkEntry } from './sink-entry.ts'

/** The feed that a sink is filled from. */
export interface SinkSource {
  /** `ChangeFeedSource.identity`: LSNs of two feeds cannot be compared. */
  readonly identity: string
  /** For people: the collection's path. */
  readonly description: string
}

/** The origin of a batch. */
export interface SinkContext {
  /** For people: the collection's path. */
  readonly source: string
  /** Name of the job. With range and `fence.epoch` it is what a fenced write carries. */
  readonly job: string
  /** Batches of one range arrive one after the other, in LSN order; with `maxConcurrentKeys` those of one key do. */
  readonly range: FeedRange
  /** A sink that remembers the highest epoch of a range can refuse an older one: its worker is stale. */
  readonly fence: Fence
  /** Aborted when the worker must stop or has lost the range; what is not durable by then is sent again. */
  readonly signal: AbortSignal
}

/**
 * Somewhere outside that changes or documents go to: `syncTo` gives it a `SinkEntry` for each change, archives an
 * `ArchivedDocument` for each document.
 */
export interface Sink<Entry = SinkEntry> {
  /**
   * Whether it applies an entry only if its (epoch, LSN) is above that of what it has for the key, deletes included.
   * Then order does not matter to it: it never goes back. @default false
   */
  readonly ordersVersions?: boolean | undefined
  /**
   * Makes or checks the target; called once by each worker, before its first batch. What it rejects with is what the
   * job's `start` rejects with.
   */
  open?(source: SinkSource, options: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Must not resolve before the entries are durable: the position moves on, or documents are removed, after that.
   * After a crash or a rejection, entries come again, perhaps in other batches; each is known by its key.
   *
   * Reject with ERR_SINK_REFUSED for an entry that can never be taken, with ERR_SINK_UNAVAILABLE when the same call may
   * succeed later, and with ERR_FENCED_WRITE when `context.fence` is too old.
   */
  write(batch: readonly Entry[], context: SinkContext): Promise<void>
  /**
   * Checks what was written: one result per entry, in order, true only if all of it is there as given.
   * `archiveDocuments` removes no document without it.
   */
  verify?(batch: readonly Entry[], context: SinkContext): Promise<readonly boolean[]>
}

/** An option that must be a sink. */
export const sinkRule: OptionRule = requiredOption(
  optionHaving('a sink: an object with a function write(batch, context)', 'write'),
)
