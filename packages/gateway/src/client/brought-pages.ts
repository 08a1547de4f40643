import {
  feedRangeId,
  type Clock,
  type DocumentBody,
  type FeedMode,
  type FeedPage,
  type FeedRange,
} from '@tidemark/contracts'

/** What decides on a page, beside the time at which it is read. */
export interface PageWanted {
  readonly range: FeedRange
  readonly continuation: string
  readonly mode: FeedMode
  readonly maxItemCount: number | undefined
  readonly pendingDeletes: boolean
}

/** A reader takes its page in the turn in which its wait ended. Those of readers that were stopped then are left. */
const MAX_PAGES = 16
/** So that what is left is not taken for the present state. */
const MAX_AGE_MS = 1_000

/** Pages that came with the end of a wait, each for one read. */
export class BroughtPages<T extends DocumentBody> {
  readonly #clock: Clock
  readonly #pages = new Map<string, { readonly page: FeedPage<T>; readonly cameMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  put(wanted: PageWanted, page: FeedPage<T>): void {
    this.#pages.set(keyOf(wanted), { page, cameMs: this.#clock.monotonicMs() })
    if (this.#pages.size <= MAX_PAGES) return
    for (const oldest of this.#pages.keys()) {
      this.#pages.delete(oldest)
      return
    }
  }

  take(wanted: PageWanted): FeedPage<T> | undefined {
    const key = keyOf(wanted)
    const brought = this.#pages.get(key)
    if (brought === undefined) return undefined
    this.#pages.delete(key)
    const ageMs = this.#clock.monotonicMs() - brought.cameMs
    return ageMs <= MAX_AGE_MS ? brought.page : undefined
  }
}

function keyOf({ range, continuation, mode, ...shape }: PageWanted): string {
  const { maxItemCount = '', pendingDeletes } = shape
  return `${mode} ${feedRangeId(range)} ${maxItemCount} ${pendingDeletes} ${continuation}`
}
