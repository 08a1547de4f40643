import { rangeContainsEpk, type FeedRange } from '@tidemark/contracts'
import type { RangeRecord } from '../engine/catalog.ts'
import type { EngineFeedPage, FeedPageQuery, FeedRow, FeedStart } from '../engine/feed-query.ts'
import { CommitWaiters } from './commit-waiters.ts'
import type { MemoryRow } from './memory-row.ts'
import type { MemorySegment } from './memory-segment.ts'

/** Slots that one page looks at, however few of them concern the reader. */
const MAX_EXAMINED_SLOTS = 100_000

/**
 * A pkrange. Its feed is its ancestors' sealed segments, filtered by its interval, then its own: each
 * segment's LSNs lie above its predecessor's.
 */
export class MemoryRange implements FeedRange {
  readonly record: RangeRecord
  readonly minInclusive: string
  readonly maxExclusive: string
  readonly waiters: CommitWaiters = new CommitWaiters()
  readonly #segments: readonly MemorySegment[]
  readonly #open: MemorySegment

  constructor(record: RangeRecord, ancestors: readonly MemorySegment[], open: MemorySegment) {
    this.record = record
    this.minInclusive = record.minInclusive
    this.maxExclusive = record.maxExclusive
    this.#segments = [...ancestors, open]
    this.#open = open
  }

  get lsn(): number {
    return this.#open.lsn
  }

  /** Where new rows go. */
  get segment(): MemorySegment {
    return this.#open
  }

  get segments(): readonly MemorySegment[] {
    return this.#segments
  }

  readPage({ range, afterLsn, maxItems, maxChars }: FeedPageQuery): EngineFeedPage {
    const rows: FeedRow[] = []
    const whole = range.minInclusive <= this.minInclusive && range.maxExclusive >= this.maxExclusive
    let chars = 0
    let examined = 0
    let examinedLsn = afterLsn
    for (const segment of this.#segments) {
      for (let slot = segment.slotAfter(afterLsn); slot < segment.slots; slot++) {
        const lsn = segment.lsnAt(slot)
        if (lsn !== examinedLsn) {
          // Only between transactions may a page end.
          if (rows.length >= maxItems || chars >= maxChars) return this.#page(rows, examinedLsn)
          if (examined >= MAX_EXAMINED_SLOTS) return this.#page(rows, examinedLsn)
        }
        examined++
        examinedLsn = lsn
        const row = segment.rowAt(slot)
        if (row === undefined || !(whole || rangeContainsEpk(range, row.epk))) continue
        rows.push([row.lsn, row.kind, row.body, 0])
        chars += row.body.length
      }
    }
    return this.#page(rows, this.lsn)
  }

  /** The LSN after which a reader of `range` begins. */
  startLsn(range: FeedRange, start: FeedStart): number {
    switch (start.kind) {
      case 'beginning':
        return 0
      case 'now':
        return this.lsn
      case 'time': {
        const first = this.#firstRow(
          (row) => row.ts >= start.ts && rangeContainsEpk(range, row.epk),
        )
        return first === undefined ? this.lsn : first.lsn - 1
      }
    }
  }

  #firstRow(matches: (row: MemoryRow) => boolean): MemoryRow | undefined {
    for (const segment of this.#segments) {
      for (let slot = 0; slot < segment.slots; slot++) {
        const row = segment.rowAt(slot)
        if (row !== undefined && matches(row)) return row
      }
    }
    return undefined
  }

  #page(rows: readonly FeedRow[], examinedLsn: number): EngineFeedPage {
    const lsn = rows.at(-1)?.[0] ?? examinedLsn
    return { rows, lsn, epoch: 0, caughtUp: lsn === this.lsn, horizon: 0 }
  }
}
