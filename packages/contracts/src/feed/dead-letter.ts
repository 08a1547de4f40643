import type { DocumentBody } from '../documents/document.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { Lsn } from '../ranges/lsn.ts'
import type { Change } from './change.ts'

/** An error in a form that can be stored. */
export interface RecordedError {
  readonly name: string
  readonly message: string
  /** Of a coded error. */
  readonly code?: string | undefined
  readonly stack?: string | undefined
}

/** A change that an observer could not process, set aside so that later changes can continue (PH-7). */
export interface DeadLetter<T extends DocumentBody = DocumentBody> {
  /**
   * Follows from the change and the group, so that each change has one letter. At most 255 characters, none of them
   * `/`, `\`, `?` or `#`.
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
  /** Number of attempts at this change alone. */
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
   * Resolves when the letter is stored durably. The same letter may come again. While it rejects, the range waits and
   * retries: nothing is dropped.
   */
  put(letter: DeadLetter<T>, options: SinkCallOptions): Promise<void>
  /**
   * Letters of the group that an operator sent back, of keys in `range`, oldest first; a few at a time. They are
   * delivered to the observer one by one, each between two batches of its key. Absent = letters cannot be sent back.
   */
  takeRedriven?(
    request: { readonly group: string; readonly range: FeedRange } & SinkCallOptions,
  ): Promise<readonly DeadLetter<T>[]>
  /** A letter that was sent back succeeded: removes it. Can be repeated. */
  settle?(letter: DeadLetter<T>, options: SinkCallOptions): Promise<void>
}
