import type {
  BatchAttempts,
  ChangeFeedSource,
  Checkpoint,
  DocumentBody,
  FeedPage,
  FeedRange,
} from '@tidemark/contracts'
import { deadLetterId } from '../dead-letters/dead-letter-of.ts'
import type { TriesOfPiece } from './bisection.ts'
import type { PositionKeeper } from './position-keeper.ts'
import type { PumpOptions } from './pump-options.ts'

export interface BatchMarksParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly range: FeedRange
  readonly options: PumpOptions
  readonly keeper: PositionKeeper
  readonly signal: AbortSignal
}

/** Stores with the lease which changes are being tried, so that whoever has it next knows of a process that died. */
export class BatchMarks<T extends DocumentBody> {
  readonly #parts: BatchMarksParts<T>

  constructor(parts: BatchMarksParts<T>) {
    this.#parts = parts
  }

  /** Stores that `page` is being tried from the change `from` on; false when the lease is lost. */
  async store(page: FeedPage<T>, from: number, tries: TriesOfPiece): Promise<boolean> {
    const { keeper } = this.#parts
    const exact = from === 0 ? keeper.front : await this.#positionBefore(page, from)
    try {
      await keeper.mark(exact, this.#attempts(page, from, tries))
      return true
    } catch {
      return false
    }
  }

  /**
   * Stores that a page is in work, whichever of its changes are in an observer's hands; false when the lease is
   * lost.
   */
  storePage(page: FeedPage<T>): Promise<boolean> {
    return this.store(page, 0, { count: 1, size: 0 })
  }

  /** The try that was stored last was not made. */
  withdraw(page: FeedPage<T>, from: number, tries: TriesOfPiece): void {
    const tellsNothing = tries.count === 0 && tries.size <= 1
    this.#parts.keeper.unmark(tellsNothing ? undefined : this.#attempts(page, from, tries))
  }

  #attempts({ changes }: FeedPage<T>, from: number, { count, size }: TriesOfPiece): BatchAttempts {
    const { feed, options } = this.#parts
    const change = changes[from]!
    return {
      count,
      size,
      first: deadLetterId({ group: options.group, feed: feed.identity, change }),
    }
  }

  /** Undefined in the middle of a transaction, and where the feed makes no positions of LSNs. */
  async #positionBefore(page: FeedPage<T>, index: number): Promise<Checkpoint | undefined> {
    const { feed, range, options, signal } = this.#parts
    const { changes, continuation } = page
    const done = changes[index - 1]?.lsn
    if (done === undefined || done === changes[index]?.lsn) return undefined
    const { mode } = options
    try {
      return await feed.positionAt?.({ range, lsn: done, mode, page: continuation, signal })
    } catch {
      // Then it is found by its name, by whoever comes next.
      return undefined
    }
  }
}
