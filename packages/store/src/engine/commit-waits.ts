import {
  CodedError,
  RangeGoneError,
  StoreUnavailableError,
  type FeedRange,
} from '@tidemark/contracts'
import type { CollectionRecord } from './catalog.ts'

export interface CommitWait {
  readonly afterLsn: number
  wake(): void
  fail(error: unknown): void
}

/** Where waiting readers wait. */
export interface WaitPlace {
  readonly collection: CollectionRecord
  readonly range: FeedRange
  /** Number of the pkrange that held `range` when the wait began. */
  readonly rangeNumber: number
}

/** Where a place's pkrange stands. */
export interface PlaceCounter {
  readonly lsn: number
  readonly rangeNumber: number
}

interface PlaceWaits {
  readonly place: WaitPlace
  readonly waits: Set<CommitWait>
}

/** More than this means a leak, not a load. */
const MAX_WAITS = 100_000

/**
 * Readers of one database that have caught up and wait for a commit. They are grouped by place: a commit examines only
 * the readers that it concerns, and a place with many readers is looked up once.
 */
export class CommitWaits {
  readonly #places = new Map<string, PlaceWaits>()
  /** The same by pkrange, which is how a commit of this process names them. */
  readonly #ofPkRange = new Map<string, Set<PlaceWaits>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns a function that ends the wait. */
  add(place: WaitPlace, wait: CommitWait): () => void {
    if (this.#size >= MAX_WAITS) {
      throw new StoreUnavailableError(`${MAX_WAITS} readers wait for commits already`)
    }
    const { collection, range, rangeNumber } = place
    const rangeKey = pkRangeKey(collection.number, rangeNumber)
    const key = `${rangeKey}/${range.minInclusive}-${range.maxExclusive}`
    let here = this.#places.get(key)
    if (here === undefined) {
      here = { place, waits: new Set() }
      this.#places.set(key, here)
      const beside = this.#ofPkRange.get(rangeKey) ?? new Set()
      this.#ofPkRange.set(rangeKey, beside.add(here))
    }
    here.waits.add(wait)
    this.#size++
    const added = here
    return () => {
      if (!added.waits.delete(wait)) return
      this.#size--
      if (added.waits.size > 0) return
      this.#places.delete(key)
      const beside = this.#ofPkRange.get(rangeKey)
      beside?.delete(added)
      if (beside?.size === 0) this.#ofPkRange.delete(rangeKey)
    }
  }

  /** Wakes the readers whose pkrange moved on. */
  committed(touched: {
    readonly collection: number
    readonly range: number
    readonly lsn: number
  }): void {
    const places = this.#ofPkRange.get(pkRangeKey(touched.collection, touched.range))
    for (const { waits } of places ?? []) {
      for (const wait of waits) if (touched.lsn > wait.afterLsn) wait.wake()
    }
  }

  /** The places that have waiting readers now. */
  places(): readonly WaitPlace[] {
    return [...this.#places.values()].map(({ place }) => place)
  }

  /**
   * Updates the waiting readers at `places` with the present counters, in the same order: commits of other processes
   * are not reported one by one. Readers of a pkrange that was split or merged wake up: their next read shows what
   * happened.
   */
  tell(places: readonly WaitPlace[], answers: readonly (PlaceCounter | CodedError)[]): void {
    const answerOf = new Map(places.map((place, index) => [place, answers[index]]))
    for (const { place, waits } of this.#places.values()) {
      const answer = answerOf.get(place)
      if (answer === undefined) continue
      for (const wait of waits) {
        if (answer instanceof RangeGoneError) wait.wake()
        else if (answer instanceof CodedError) wait.fail(answer)
        // It has moved to another pkrange since then, so the next commit would not wake this place.
        else if (answer.rangeNumber !== place.rangeNumber) wait.wake()
        else if (answer.lsn > wait.afterLsn) wait.wake()
      }
    }
  }

  failAll(error: unknown): void {
    for (const { waits } of this.#places.values()) for (const wait of waits) wait.fail(error)
  }
}

function pkRangeKey(collection: number, range: number): string {
  return `${collection}/${range}`
}
