import {
  feedRangeId,
  type DocumentBody,
  type FeedMode,
  type FeedPage,
  type FeedRange,
} from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'

/** What decides on a page, beside the time at which it is read. */
export interface PageWanted {
  readonly range: FeedRange
  readonly continuation: string
  readonly mode: FeedMode
  readonly maxItemCount: number | undefined
  readonly pendingDeletes: boolean
}

/**
 * Pages that came with the end of a wait, each for one read. A reader takes its page in the turn of the event loop in which its
 * wait ended. Later a write that was acknowledged in the meantime would be missing in it, so it is dropped.
 */
export class BroughtPages<T extends DocumentBody> {
  readonly #pages = new Map<string, FeedPage<T>>()

  put(wanted: PageWanted, page: FeedPage<T>): void {
    const key = keyOf(wanted)
    this.#pages.set(key, page)
    void eventLoopTurn().then(() => {
      if (this.#pages.get(key) === page) this.#pages.delete(key)
    })
  }

  take(wanted: PageWanted): FeedPage<T> | undefined {
    const key = keyOf(wanted)
    const page = this.#pages.get(key)
    this.#pages.delete(key)
    return page
  }
}

function keyOf({ range, continuation, mode, ...shape }: PageWanted): string {
  const { maxItemCount = '', pendingDeletes } = shape
  return `${mode} ${feedRangeId(range)} ${maxItemCount} ${pendingDeletes} ${continuation}`
}
