import type { DocumentBody } from '../documents/document.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { Lsn } from '../ranges/lsn.ts'
import type { Change } from './change.ts'

/** What an error was, as it can be kept. */
export interface RecordedError {
  readonly name: string
  readonly message: string
  /** Of a coded error. */
  readonly code?: string | undefined
  readonly stack?: string | undefined
}

/** A change that an observer could not process, taken out of the way of those behind it (PH-7). */
export interface DeadLetter<T extends DocumentBody = DocumentBody> {
  /**
   * The same for the same change of the same group, whoever finds it, however often. At most 255 characters, none
   * of them `/`, `\`, `?` or `#`.
   */
  readonly id: string
  readonly group: string
  /** `ChangeFeedSource.identity` of the feed. */
  readonly feed: string
  /** Of the lease under which it was found. */
  readonly range: FeedRange
  readonly lsn: Lsn
  readonly change: Change<T>
  readonly error: RecordedError
  /** Tries of this change alone. */
  readonly attempts: number
  readonly hostName: string
  /** Epoch ms, by the host's clock. */
  readonly failedAtMs: number
}

export interface SinkCallOptions {
  /** Aborted when the host no longer waits for the call. */
  readonly signal: AbortSignal
}

/** Where dead letters go. */
export interface DeadLetterSink<T extends DocumentBody = DocumentBody> {
  /**
   * Keeps a letter durably before it resolves; the same one may come again. While it rejects, the range waits and
   * tries again: nothing is dropped.
   */
  put(letter: DeadLetter<T>, options: SinkCallOptions): Promise<void>
  /**
   * Letters of the group that an operator sent back, of keys in `range`, oldest first; a few at a time. They are
   * handed to the observer one by one, each between two batches of its key. Absent = nothing can be sent back.
   */
  takeRedriven?(
    request: { readonly group: string; readonly range: FeedRange } & SinkCallOptions,
  ): Promise<readonly DeadLetter<T>[]>
  /** A letter that was sent back is done: it goes. May be repeated. */
  settle?(letter: DeadLetter<T>, options: SinkCallOptions): Promise<void>
}
