import {
  AllVersionsOffError,
  PreconditionFailedError,
  RangeGoneError,
  ResourceNotFoundError,
  lsn,
  type FeedRange,
  type GroupPosition,
} from '@tidemark/contracts'
import type { CollectionRecord, RangeRecord } from '../engine/catalog.ts'
import { changedRecord, type DefinitionChanges } from '../engine/definition-changes.ts'
import { expiredSecond, neverExpires, type TtlPolicy } from '../engine/expiry.ts'
import type {
  EngineFeedPage,
  EngineVersionPage,
  FeedCount,
  FeedCountQuery,
  FeedPageQuery,
  RangeCounter,
  StartQuery,
} from '../engine/feed-query.ts'
import { withPositions, type PositionList } from '../engine/group-positions.ts'
import { rangeHolding, rangeOfEpk } from '../engine/range-lookup.ts'
import { HeldEntries } from './held-entries.ts'
import { LiveDocuments } from './live-documents.ts'
import { MemoryRange } from './memory-range.ts'
import type { MemoryRow } from './memory-row.ts'
import { mergeTwo, splitInTwo, type NewRangeNumbers } from './range-changes.ts'
import { countFeed } from './count-feed.ts'
import { readFeedPage, readVersionPage, startLsn } from './read-pages.ts'

/** Documents with their order by key and by expiry, and the ranges with their feeds. */
export class MemoryCollection {
  /** All stored documents, expired ones included. */
  readonly documents: LiveDocuments = new LiveDocuments()
  readonly heldEntries: HeldEntries = new HeldEntries()
  readonly #positions = new Map<string, PositionList>()
  #purgeStamp = 0
  #record: CollectionRecord
  #policy: TtlPolicy
  #ranges: readonly MemoryRange[]
  #nextSegment: number

  constructor(record: CollectionRecord, ranges: readonly FeedRange[]) {
    this.#record = record
    this.#policy = policyOf(record)
    this.#ranges = ranges.map(({ minInclusive, maxExclusive }, number) => {
      const interval = { minInclusive, maxExclusive }
      return new MemoryRange({ ...interval, number, parents: [], segment: number, ts: record.ts })
    })
    this.#nextSegment = ranges.length
  }

  get record(): CollectionRecord {
    return this.#record
  }

  /** The present ranges, in EPK order. */
  get ranges(): readonly MemoryRange[] {
    return this.#ranges
  }

  /** @throws ERR_INVALID_OPTION, ERR_PRECONDITION_FAILED */
  update(
    changes: DefinitionChanges,
    { nowMs, ifMatch }: { readonly nowMs: number; readonly ifMatch: string | undefined },
  ): CollectionRecord {
    const { id, etag, definition: before } = this.#record
    if (ifMatch !== undefined && ifMatch !== etag) {
      throw new PreconditionFailedError(id, `its etag is ${etag}, not ${ifMatch}`)
    }
    this.#replaceRecord(changedRecord(this.#record, changes, nowMs))
    const { defaultTtl, allVersions } = this.#record.definition
    if (defaultTtl !== before.defaultTtl) this.documents.refile(defaultTtl)
    if (allVersions !== null && before.allVersions === null) {
      const stamp = this.nextPurgeStamp(nowMs)
      for (const range of this.#ranges) range.beginVersions(stamp)
    }
    return this.#record
  }

  /** Higher than the stamp of every earlier purge. */
  nextPurgeStamp(nowMs: number): number {
    this.#purgeStamp = Math.max(this.#purgeStamp + 1, nowMs)
    return this.#purgeStamp
  }

  /** All documents that expired under past values of `defaultTtl` are pending deletes now. */
  forgetEras(): void {
    this.#replaceRecord({ ...this.#record, ttlEras: [] })
  }

  /** The epoch second at which a live row expired, if it has by then; else 0. */
  expiredSecond(row: MemoryRow, nowMs: number): number {
    return neverExpires(this.#policy) ? 0 : expiredSecond(row, this.#policy, nowMs)
  }

  /** The live document of a key that has not expired. */
  read(
    key: { readonly partitionKey: string; readonly id: string },
    nowMs: number,
  ): MemoryRow | undefined {
    const row = this.documents.read(key)
    return row === undefined || this.expiredSecond(row, nowMs) !== 0 ? undefined : row
  }

  rangeOfEpk(epk: string): MemoryRange {
    return rangeOfEpk(this.#ranges, epk)
  }

  /** @throws ERR_RANGE_GONE */
  rangeHolding(wanted: FeedRange): MemoryRange {
    return rangeHolding(this.#ranges, wanted)
  }

  /** @throws ERR_RANGE_GONE */
  rangeNumbered(number: number): MemoryRange {
    const found = this.#ranges.find(({ record }) => record.number === number)
    if (found !== undefined) return found
    const successors = this.#ranges.filter(({ record }) => record.parents.includes(number))
    throw new RangeGoneError(
      String(number),
      successors.map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive })),
    )
  }

  /** @throws ERR_RANGE_GONE, ERR_INVALID_OPTION */
  split(number: number, at: string, nowMs: number): readonly [RangeRecord, RangeRecord] {
    const parent = this.rangeNumbered(number)
    const [low, high] = splitInTwo(parent, at, this.#newNumbers(nowMs))
    this.#replaceRanges([parent], [low, high])
    return [low.record, high.record]
  }

  /** @throws ERR_RANGE_GONE, ERR_INVALID_OPTION */
  merge([first, second]: readonly [number, number], nowMs: number): RangeRecord {
    const parents = [this.rangeNumbered(first), this.rangeNumbered(second)] as const
    const merged = mergeTwo(parents, this.#newNumbers(nowMs))
    this.#replaceRanges(parents, [merged])
    return merged.record
  }

  /** @throws ERR_RANGE_GONE */
  readFeedPage(query: FeedPageQuery, nowMs: number): EngineFeedPage {
    const isExpired = (row: MemoryRow): boolean => this.expiredSecond(row, nowMs) !== 0
    return readFeedPage(this.rangeHolding(query.range), query, isExpired)
  }

  /** @throws ERR_RANGE_GONE, ERR_ALL_VERSIONS_OFF */
  readVersionPage(query: FeedPageQuery): EngineVersionPage {
    this.#assertVersions()
    return readVersionPage(this.rangeHolding(query.range), query)
  }

  /** @throws ERR_RANGE_GONE, ERR_ALL_VERSIONS_OFF */
  countFeed(query: FeedCountQuery, nowMs: number): FeedCount {
    if (query.mode === 'allVersions') this.#assertVersions()
    const isExpired = (row: MemoryRow): boolean => this.expiredSecond(row, nowMs) !== 0
    return countFeed(this.rangeHolding(query.range), query, isExpired)
  }

  /** @throws ERR_RANGE_GONE, ERR_ALL_VERSIONS_OFF */
  resolveStart({ range: wanted, start, mode }: StartQuery): RangeCounter {
    if (mode === 'allVersions') this.#assertVersions()
    const range = this.rangeHolding(wanted)
    const lsn = startLsn(range, { wanted, start, mode })
    return { lsn, epoch: 0, ...range.horizonsOf(wanted, mode) }
  }

  reportPositions(positions: readonly GroupPosition[]): void {
    for (const [group, reported] of Map.groupBy(positions, (position) => position.group)) {
      const parts = reported.map(({ range, lsn: reached }) => ({ range, lsn: reached }))
      this.#positions.set(group, withPositions(this.positionsOf(group), parts))
    }
  }

  positionsOf(group: string): PositionList {
    return this.#positions.get(group) ?? []
  }

  readPositions(group: string): readonly GroupPosition[] {
    return this.positionsOf(group).map(({ range, lsn: at }) => ({ group, range, lsn: lsn(at) }))
  }

  failWaiters(error: Error = new ResourceNotFoundError('collection', this.#record.id)): void {
    for (const range of this.#ranges) range.waiters.failAll(error)
  }

  /** Later numbers are higher than all present ones, so no number is used twice. */
  #newNumbers(nowMs: number): NewRangeNumbers {
    const range = Math.max(...this.#ranges.map(({ record }) => record.number)) + 1
    return { range, segment: this.#nextSegment, ts: Math.floor(nowMs / 1000) }
  }

  #replaceRanges(gone: readonly MemoryRange[], successors: readonly MemoryRange[]): void {
    this.#nextSegment += successors.length
    this.#ranges = this.#ranges.flatMap((range) => {
      if (range === gone[0]) return successors
      return gone.includes(range) ? [] : [range]
    })
    // Also the readers whose interval lies in one successor: nothing would ever wake them again.
    for (const range of gone) range.waiters.wakeAll()
  }

  #replaceRecord(record: CollectionRecord): void {
    this.#record = record
    this.#policy = policyOf(record)
  }

  #assertVersions(): void {
    if (this.#record.definition.allVersions === null) throw new AllVersionsOffError(this.#record.id)
  }
}

function policyOf({ definition: { defaultTtl }, ttlEras }: CollectionRecord): TtlPolicy {
  return { defaultTtl, eras: ttlEras }
}
