import {
  rangeContainsEpk,
  type Change,
  type DocumentBody,
  type FeedRange,
} from '@tidemark/contracts'

/** What the fake feed carries: a key and a running number within it. */
export interface FakeDocument extends DocumentBody {
  readonly key: string
  readonly n: number
}

export interface FakeEntry {
  readonly epk: string
  readonly change: Change<FakeDocument>
}

export interface FakeWaiter {
  readonly range: FeedRange
  readonly wake: (found: boolean) => void
}

/** A range of the fake feed: the whole history of its keys, also from before it was split or merged. */
export class FakeRange {
  readonly range: FeedRange
  /** In LSN order. Of ancestors that were merged, several may have one LSN. */
  readonly entries: FakeEntry[]
  readonly waiters: Set<FakeWaiter> = new Set()
  lastLsn: number
  /** Below it equal LSNs of merged parts name different moments. */
  readonly firstOwnLsn: number
  gone = false

  constructor(
    range: FeedRange,
    {
      entries = [],
      lastLsn = 0,
      firstOwnLsn = 0,
    }: { entries?: FakeEntry[]; lastLsn?: number; firstOwnLsn?: number } = {},
  ) {
    this.range = range
    this.entries = entries
    this.lastLsn = lastLsn
    this.firstOwnLsn = firstOwnLsn
  }

  /** Changes of `range` above an LSN: whole transactions (CF-7), so many that `limit` is reached. */
  after(
    afterLsn: number,
    { range, limit }: { readonly range: FeedRange; readonly limit: number },
  ): { readonly changes: readonly Change<FakeDocument>[]; readonly isWhole: boolean } {
    const changes: Change<FakeDocument>[] = []
    for (let index = firstAfter(this.entries, afterLsn); ; index += 1) {
      const entry = this.entries[index]
      if (entry === undefined) return { changes, isWhole: true }
      const { epk, change } = entry
      if (!rangeContainsEpk(range, epk)) continue
      if (changes.length >= limit && changes.at(-1)?.lsn !== change.lsn) {
        return { changes, isWhole: false }
      }
      changes.push(change)
    }
  }

  wakeAll(): void {
    for (const waiter of this.waiters) waiter.wake(true)
  }
}

/** Index of the first entry above an LSN. */
function firstAfter(entries: readonly FakeEntry[], after: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (entries[middle]!.change.lsn <= after) low = middle + 1
    else high = middle
  }
  return low
}

/** Digits of an EPK of one path, of which the two highest bits are never set. */
const DIGITS = 32
const KEY_SPACE_END = 1n << 126n

/** The EPK in the middle of a range; undefined when there is none. */
export function middleOf({ minInclusive, maxExclusive }: FeedRange): string | undefined {
  const [min, end] = [minInclusive, maxExclusive].map((bound) =>
    BigInt(`0x${bound.padEnd(DIGITS, '0')}`),
  )
  if (min === undefined || end === undefined) return undefined
  const middle = (min + (end < KEY_SPACE_END ? end : KEY_SPACE_END)) / 2n
  const text = middle.toString(16).toUpperCase().padStart(DIGITS, '0')
  return minInclusive < text && text < maxExclusive ? text : undefined
}
