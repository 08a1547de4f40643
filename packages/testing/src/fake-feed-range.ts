import type { Change, DocumentBody, FeedRange } from '@tidemark/contracts'

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

  wakeAll(): void {
    for (const waiter of this.waiters) waiter.wake(true)
  }
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
