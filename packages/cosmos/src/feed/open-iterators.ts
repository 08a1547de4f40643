import { feedRangeId, type FeedMode, type FeedRange, type PkRangeId } from '@tidemark/contracts'
import type { FeedIterator } from '../cosmos-container.ts'

/** Where the next page of an iterator begins, and of what shape it is. */
export interface IteratorPlace {
  readonly range: FeedRange
  readonly mode: FeedMode
  readonly lsn: number
  readonly maxItemCount: number | undefined
  /** Of the pkrange that has the interval. */
  readonly pkRangeId: PkRangeId
}

/** More than a host has leases, as a rule. What is left out costs its reader one request more. */
const MAX_OPEN = 1_000

/**
 * Iterators of the client that stand where the last page of their reader ended. A new one asks for the container before
 * its first page, so that one for each page would double the requests. Of each interval and mode there is one.
 */
export class OpenIterators {
  readonly #open = new Map<
    string,
    { readonly place: IteratorPlace; readonly iterator: FeedIterator }
  >()

  /** The iterator for this page, if there is one. Whoever has it puts it back after a page that came as it should. */
  take(place: IteratorPlace): FeedIterator | undefined {
    const key = keyOf(place)
    const open = this.#open.get(key)
    this.#open.delete(key)
    if (open?.place.lsn !== place.lsn || open.place.maxItemCount !== place.maxItemCount) {
      return undefined
    }
    // That of 4.3 reads all of a merged pkrange where it was made for one of its parents.
    return open.place.pkRangeId === place.pkRangeId ? open.iterator : undefined
  }

  put(place: IteratorPlace, iterator: FeedIterator): void {
    const key = keyOf(place)
    this.#open.delete(key)
    this.#open.set(key, { place, iterator })
    const [oldest] = this.#open.keys()
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#open.delete(oldest)
  }
}

function keyOf({ range, mode }: IteratorPlace): string {
  return `${mode} ${feedRangeId(range)}`
}
