import {
  ResourceNotFoundError,
  rangeContains,
  rangeContainsEpk,
  type FeedRange,
} from '@tidemark/contracts'
import type { CollectionRecord } from '../engine/catalog.ts'
import type { ScanPage, ScanPosition, ScanQuery } from '../engine/document-query.ts'
import { LIVE_ROW } from '../engine/feed-query.ts'
import { rangeHolding, rangeOfEpk } from '../engine/range-lookup.ts'
import { MemoryRange } from './memory-range.ts'
import { rowKey, type MemoryRow } from './memory-row.ts'
import { MemorySegment } from './memory-segment.ts'
import { SortedRows } from './sorted-rows.ts'

/** Documents, their order by key, and the ranges with their feeds. */
export class MemoryCollection {
  readonly record: CollectionRecord
  readonly #ranges: readonly MemoryRange[]
  readonly #live = new Map<string, MemoryRow>()
  readonly #sorted = new SortedRows()

  constructor(record: CollectionRecord, ranges: readonly FeedRange[]) {
    this.record = record
    this.#ranges = ranges.map(({ minInclusive, maxExclusive }, index) => {
      const number = index
      const segment = new MemorySegment(number, 0)
      const parents: readonly number[] = []
      const range = { minInclusive, maxExclusive, number, parents, segment: number, ts: record.ts }
      return new MemoryRange(range, [], segment)
    })
  }

  get ranges(): readonly MemoryRange[] {
    return this.#ranges
  }

  get count(): number {
    return this.#live.size
  }

  rangeOfEpk(epk: string): MemoryRange {
    return rangeOfEpk(this.#ranges, epk)
  }

  /** @throws ERR_RANGE_GONE */
  rangeHolding(wanted: FeedRange): MemoryRange {
    return rangeHolding(this.#ranges, wanted)
  }

  read(key: { readonly partitionKey: string; readonly id: string }): MemoryRow | undefined {
    return this.#live.get(rowKey(key))
  }

  put(row: MemoryRow): void {
    const key = rowKey(row)
    const present = this.#live.get(key)
    present?.segment.remove(present)
    row.segment.append(row)
    this.#live.set(key, row)
    this.#sorted.put(row)
  }

  delete(key: { readonly partitionKey: string; readonly id: string }): void {
    const present = this.read(key)
    if (present === undefined) return
    present.segment.remove(present)
    this.#live.delete(rowKey(key))
    this.#sorted.delete(present)
  }

  scan({ range, partitionKey, after, maxItems, maxChars }: ScanQuery): ScanPage {
    const bodies: string[] = []
    let chars = 0
    let last: ScanPosition | undefined
    const first = { epk: range.minInclusive, partitionKey: partitionKey ?? '', id: '' }
    for (const row of this.#sorted.from(after ?? first)) {
      if (row.epk >= range.maxExclusive) break
      if (partitionKey !== undefined && row.partitionKey !== partitionKey) continue
      if (after !== undefined && isKey(row, after)) continue
      if (bodies.length >= maxItems || chars >= maxChars) return { bodies, next: last }
      bodies.push(row.body)
      chars += row.body.length
      last = { epk: row.epk, partitionKey: row.partitionKey, id: row.id }
    }
    return { bodies, next: undefined }
  }

  failWaiters(): void {
    const gone = new ResourceNotFoundError('collection', this.record.id)
    for (const range of this.#ranges) range.waiters.failAll(gone)
  }

  /** Contradictions between the documents, their order and the feeds. */
  check(): readonly string[] {
    const problems: string[] = []
    const report = (problem: string): void => {
      problems.push(`collection ${this.record.id}: ${problem}`)
    }
    let end = ''
    for (const range of this.#ranges) {
      if (range.minInclusive !== end) report(`ranges have a gap or overlap at ${end}`)
      end = range.maxExclusive
      this.#checkFeed(range, report)
    }
    if (end !== 'FF') report(`ranges end at ${end}`)
    const sorted = [...this.#sorted.from({ epk: '', partitionKey: '', id: '' })]
    if (sorted.length !== this.#live.size)
      report('the key order and the documents differ in number')
    for (const row of sorted) {
      if (this.read(row) !== row) report(`key order holds another version of ${row.id}`)
    }
    return problems
  }

  #checkFeed(range: MemoryRange, report: (problem: string) => void): void {
    let lsn = 0
    for (const segment of range.segments) {
      for (let slot = 0; slot < segment.slots; slot++) {
        const row = segment.rowAt(slot)
        if (row === undefined) continue
        if (row.lsn < lsn) report(`LSN ${row.lsn} of ${row.id} stands after ${lsn}`)
        lsn = row.lsn
        if (row.kind === LIVE_ROW && this.read(row) !== row) {
          report(`the feed holds a version of ${row.id} that is not live`)
        }
        if (!rangeContainsEpk(range, row.epk)) report(`${row.id} is in the wrong range`)
      }
    }
    if (lsn > range.lsn) report(`LSN ${lsn} is above the counter ${range.lsn}`)
    if (!rangeContains({ minInclusive: '', maxExclusive: 'FF' }, range)) {
      report(`range ${range.record.number} is outside the key space`)
    }
  }
}

function isKey(row: MemoryRow, key: ScanPosition): boolean {
  return row.id === key.id && row.partitionKey === key.partitionKey && row.epk === key.epk
}
