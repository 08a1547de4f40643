import { FULL_RANGE, commonKeys, type FeedMode, type FeedRange } from '@tidemark/contracts'
import type { RangeRecord } from '../engine/catalog.ts'
import {
  horizonAt,
  horizonsOf,
  raiseHorizon,
  type Horizon,
  type Horizons,
} from '../engine/horizons.ts'
import { CommitWaiters } from './commit-waiters.ts'
import type { MemoryRow, MemoryVersion } from './memory-row.ts'
import type { MemorySegment } from './memory-segment.ts'
import { RangeRows } from './range-rows.ts'

/** What a range inherits from those that it replaces. */
export interface RangeHeritage {
  /** The newest LSN of any of them. */
  readonly lsn: number
  readonly rows: readonly MemorySegment<MemoryRow>[]
  readonly versions: readonly MemorySegment<MemoryVersion>[]
  /** In LSN order. */
  readonly pending: readonly MemoryRow[]
  readonly horizons: Readonly<Record<FeedMode, Horizons>>
}

/** Of a range that is made with its collection. */
export const NO_HERITAGE: RangeHeritage = {
  lsn: 0,
  rows: [],
  versions: [],
  pending: [],
  horizons: { latestVersion: [], allVersions: [] },
}

/** A pkrange: its LSN counter, its feed and its log of all versions. */
export class MemoryRange implements FeedRange {
  readonly record: RangeRecord
  readonly minInclusive: string
  readonly maxExclusive: string
  readonly waiters: CommitWaiters = new CommitWaiters()
  readonly rows: RangeRows<MemoryRow>
  readonly versions: RangeRows<MemoryVersion>
  /** This range assigned every LSN above it. */
  readonly firstOwnLsn: number
  readonly #pending: MemoryRow[]
  readonly #horizons: Record<FeedMode, Horizons>
  #lsn: number

  constructor(record: RangeRecord, heritage: RangeHeritage = NO_HERITAGE) {
    this.record = record
    this.minInclusive = record.minInclusive
    this.maxExclusive = record.maxExclusive
    this.rows = new RangeRows(this, heritage.rows)
    this.versions = new RangeRows(this, heritage.versions)
    this.firstOwnLsn = heritage.lsn
    this.#lsn = heritage.lsn
    this.#pending = [...heritage.pending]
    this.#horizons = { ...heritage.horizons }
  }

  /** The newest LSN assigned. A counter of its own: to delete the newest row must not lower it. */
  get lsn(): number {
    return this.#lsn
  }

  set lsn(lsn: number) {
    this.#lsn = Math.max(this.#lsn, lsn)
  }

  /** Pending deletes, in LSN order. */
  get pending(): readonly MemoryRow[] {
    return this.#pending
  }

  horizons(mode: FeedMode): Horizons {
    return this.#horizons[mode]
  }

  /** The horizons that concern a reader of `range`: the parts, and the highest. */
  horizonsOf(
    range: FeedRange,
    mode: FeedMode,
  ): { readonly horizon: number; readonly horizons: Horizons } {
    const horizons = horizonsOf(this.#horizons[mode], range)
    return { horizon: horizonAt(horizons, range), horizons }
  }

  /** Everything of these keys up to `lsn` may be gone from now on. */
  raiseHorizon(mode: FeedMode, { range, ...horizon }: Horizon): void {
    const keys = commonKeys(range, this)
    if (keys === undefined) return
    this.#horizons[mode] = raiseHorizon(this.#horizons[mode], { range: keys, ...horizon })
  }

  /** The log of all versions begins here. There may be a gap after the end of an earlier log. */
  beginVersions(stamp: number): void {
    this.versions.clear()
    this.raiseHorizon('allVersions', { range: FULL_RANGE, lsn: this.lsn, stamp })
  }

  appendPending(row: MemoryRow): void {
    this.rows.append(row)
    this.#pending.push(row)
  }

  /** Removes the first `count` pending deletes. */
  removePending(count: number): void {
    for (const row of this.#pending.splice(0, count)) row.segment?.remove(row)
  }
}
