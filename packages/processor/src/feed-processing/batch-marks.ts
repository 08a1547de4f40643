import type {
  BatchAttempts,
  ChangeFeedSource,
  Checkpoint,
  DocumentBody,
  FeedMode,
  FeedPage,
  FeedRange,
} from '@tidemark/contracts'
import type { PositionKeeper } from './position-keeper.ts'

export interface BatchMarksParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly range: FeedRange
  readonly mode: FeedMode
  readonly keeper: PositionKeeper
  readonly signal: AbortSignal
}

/** Stores with the lease which changes are being tried, so that whoever has it next knows of a process that died. */
export class BatchMarks<T extends DocumentBody> {
  readonly #parts: BatchMarksParts<T>

  constructor(parts: BatchMarksParts<T>) {
    this.#parts = parts
  }

  /** Stores that `page` is being tried from the change `from` on; rejects when the lease is lost. */
  async store(page: FeedPage<T>, from: number, attempts: BatchAttempts): Promise<void> {
    const { keeper } = this.#parts
    const exact = from === 0 ? keeper.front : await this.#positionBefore(page, from)
    await keeper.mark(exact, attempts)
  }

  /** Stores that a whole page is being tried for the first time; false when the lease is lost. */
  async storeFirst(page: FeedPage<T>): Promise<boolean> {
    try {
      await this.store(page, 0, { count: 1, size: 0 })
      return true
    } catch {
      return false
    }
  }

  /** Undefined in the middle of a transaction, and where the feed makes no positions of LSNs. */
  async #positionBefore({ changes }: FeedPage<T>, index: number): Promise<Checkpoint | undefined> {
    const { feed, range, mode, signal } = this.#parts
    const done = changes[index - 1]?.lsn
    if (done === undefined || done === changes[index]?.lsn) return undefined
    try {
      return await feed.positionAt?.({ range, lsn: done, mode, signal })
    } catch {
      // Then the batch is tried from its beginning by whoever comes next.
      return undefined
    }
  }
}
