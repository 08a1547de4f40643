import { errorCode, type DocumentBody } from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'
import type { RangeCursor } from './range-cursors.ts'

/** After this time a range is read again in any case. The engine's own polling is what finds changes. */
const WAIT_TIMEOUT_MS = 60_000

/**
 * One waiter for many ranges. A range's wait is kept until something happens there: to set up all of them again at
 * every commit would cost what they save.
 */
export class RangeWaits<T extends DocumentBody> {
  readonly #reader: FeedReader<T>
  readonly #signal: AbortSignal
  readonly #pending = new Map<RangeCursor, Promise<void>>()
  #failure: { readonly error: unknown } | undefined
  #wake: () => void = () => {}

  constructor(reader: FeedReader<T>, signal: AbortSignal) {
    this.#reader = reader
    this.#signal = signal
  }

  /** Resolves when a cursor may have more, and has marked it. Rejects with the signal's reason. */
  async anyOf(cursors: readonly RangeCursor[]): Promise<void> {
    for (const cursor of cursors) {
      if (!this.#pending.has(cursor)) this.#pending.set(cursor, this.#waitFor(cursor))
    }
    while (this.#failure === undefined && cursors.every(({ caughtUp }) => caughtUp)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Resolves when no wait is left; its signal must have been aborted. */
  async ended(): Promise<void> {
    await Promise.all(this.#pending.values())
  }

  async #waitFor(cursor: RangeCursor): Promise<void> {
    try {
      await this.#reader.wait(cursor.position, WAIT_TIMEOUT_MS, this.#signal)
    } catch (error) {
      // For a range that is gone, the next read reports its successors.
      if (errorCode(error) !== 'ERR_RANGE_GONE') this.#failure ??= { error }
    }
    this.#pending.delete(cursor)
    cursor.caughtUp = false
    this.#wake()
  }
}
