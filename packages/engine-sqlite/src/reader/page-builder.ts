import { rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { FeedPageQuery } from '@tidemark/store/engine'
import type { RangeRow, SegmentRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import {
  mergeRows,
  NO_LIMIT,
  SegmentRows,
  type LsnRow,
  type RowSelection,
  type SegmentPart,
  type WantedRows,
} from '../segments/segment-rows.ts'
import { stretches, type Stretch } from '../segments/stretches.ts'

/** LSNs that a page reads when it leaves rows out: most of them may belong to other ranges. */
const MAX_FILTERED_LSNS = 10_000
/** Rows of a page's first read. Their size shows how many more fit. */
const FIRST_ROWS = 128

export interface PageSource<Row extends LsnRow> {
  readonly range: RangeRow
  /** The newest LSN of the range. */
  readonly newestLsn: number
  readonly selection: RowSelection
  /** Characters of a row's texts. */
  readonly sizeOf: (row: Row) => number
}

export interface BuiltPage<Row extends LsnRow> {
  readonly rows: readonly Row[]
  /** LSN of the last row, or of the last LSN that was read in vain. */
  readonly lsn: number
  /** Everything was read: no limit ended the page. */
  readonly isWhole: boolean
}

/**
 * One page of a pkrange's rows, within the caller's snapshot: rows of its segments in LSN order, up to the page's
 * limits. It never ends between two rows of one LSN (CF-7).
 */
export function buildPage<Row extends LsnRow>(
  connection: Connection,
  query: FeedPageQuery,
  source: PageSource<Row>,
): BuiltPage<Row> {
  const page = new PageBuilder(connection, query, source)
  for (const stretch of stretches(segmentsOf(source, query.range), query.afterLsn)) {
    page.readStretch(stretch)
    if (page.full) break
  }
  // Also when the query began above it: the caller then sees that its position does not belong to this feed.
  const lsn = page.rows.at(-1)?.[0] ?? (page.full ? page.examinedLsn : source.newestLsn)
  return { rows: page.rows, lsn, isWhole: !page.full || lsn >= source.newestLsn }
}

/** The segments that may have rows for a reader of `wanted`, the open one with its present counter. */
export function segmentsOf(
  { range, newestLsn }: { readonly range: RangeRow; readonly newestLsn: number },
  wanted: FeedRange,
): readonly SegmentRow[] {
  return range.segments
    .filter((segment) => rangesOverlap(segment, wanted))
    .map((segment) => (segment.state === 'open' ? { ...segment, lsn: newestLsn } : segment))
}

class PageBuilder<Row extends LsnRow> {
  rows: Row[] = []
  full = false
  examinedLsn: number
  readonly #query: FeedPageQuery
  readonly #source: PageSource<Row>
  readonly #connection: Connection
  readonly #positions: 'own' | 'any'
  readonly #segmentRows: SegmentRows<Row>
  #sizes: SegmentRows<readonly [lsn: number, bytes: number]> | undefined
  #chars = 0
  #lsnsLeft = MAX_FILTERED_LSNS

  constructor(connection: Connection, query: FeedPageQuery, source: PageSource<Row>) {
    this.#query = query
    this.#source = source
    this.#connection = connection
    this.#positions = source.range.segments.length === 1 ? 'own' : 'any'
    this.#segmentRows = new SegmentRows<Row>(connection, source.selection, this.#positions)
    this.examinedLsn = query.afterLsn
  }

  readStretch({ afterLsn, untilLsn, segments }: Stretch<SegmentRow>): void {
    const filtered = this.#leavesRowsOut(segments)
    let position = afterLsn
    while (position < untilLsn) {
      const windowEnd = filtered ? Math.min(untilLsn, position + this.#lsnsLeft) : untilLsn
      const parts = this.#read(segments, { afterLsn: position, untilLsn: windowEnd })
      const throughLsn = Math.min(...parts.map((each) => each.throughLsn))
      this.#take(
        mergeRows(
          parts.map(({ rows }) =>
            segments.length === 1 ? rows : rows.filter((row) => row[0] <= throughLsn),
          ),
        ),
      )
      // The page is full, and ends with a whole transaction.
      if (this.full) return
      if (filtered) this.#lsnsLeft -= Math.min(throughLsn, windowEnd) - position
      position = throughLsn
      // Not window by window: an epoch of the store may begin so far above the previous one that the page would never
      // get there.
      if (filtered && parts.every(({ rows }) => rows.length === 0)) {
        const empty = segments.map((each) => this.#segmentRows.emptyThrough(each, throughLsn))
        position = Math.max(position, Math.min(untilLsn, ...empty))
      }
      this.examinedLsn = position
      this.full = this.#limitReached() || this.#lsnsLeft <= 0
      if (this.full) return
    }
  }

  /** The next rows of each segment, hardly more than the page has room for. */
  #read(
    segments: readonly SegmentRow[],
    window: { readonly afterLsn: number; readonly untilLsn: number },
  ): readonly SegmentPart<Row>[] {
    const limit = this.#rowsWanted()
    const wanted = { ...window, limit, maxRowBytes: this.#maxRowBytes(limit * segments.length) }
    const parts = segments.map((segment) => this.#segmentRows.read(segment, wanted))
    if (!parts.some(({ lacksTexts }) => lacksTexts)) return parts
    const untilLsn = this.#lastFitting(segments, wanted)
    const fitting = { ...window, untilLsn, limit: NO_LIMIT }
    return segments.map((segment) => this.#segmentRows.read(segment, fitting))
  }

  /**
   * A row with larger texts is first read without them. So no read returns more than twice what the page has room for,
   * and rows of about the average size are read at once.
   */
  #maxRowBytes(rows: number): number | undefined {
    const { maxChars } = this.#query
    if (this.#source.selection.texts === undefined || maxChars === Infinity) return undefined
    const share = (2 * (maxChars - this.#chars)) / rows
    // A power of two, because each value becomes a statement of its own.
    return share < 1 ? 0 : 2 ** Math.floor(Math.log2(share))
  }

  /** The LSN at which the page is full, from the sizes of the rows alone. */
  #lastFitting(segments: readonly SegmentRow[], wanted: WantedRows): number {
    const { size = '0' } = this.#source.selection.texts ?? {}
    const parts = segments.map((segment) => this.#rowSizes(size).read(segment, wanted))
    const throughLsn = Math.min(...parts.map((part) => part.throughLsn))
    let [items, bytes] = [this.rows.length, this.#chars]
    for (const [lsn, rowBytes] of mergeRows(parts.map(({ rows }) => rows))) {
      items++
      bytes += rowBytes
      if (lsn >= throughLsn) break
      if (items >= this.#query.maxItems || bytes >= this.#query.maxChars) return lsn
    }
    return throughLsn
  }

  #rowSizes(size: string): SegmentRows<readonly [lsn: number, bytes: number]> {
    const selection = { ...this.#source.selection, columns: [size], texts: undefined }
    return (this.#sizes ??= new SegmentRows(this.#connection, selection, this.#positions))
  }

  #leavesRowsOut(segments: readonly SegmentRow[]): boolean {
    if (this.#source.selection.condition !== undefined) return true
    return !segments.every((segment) => rangeContains(this.#query.range, segment))
  }

  #limitReached(): boolean {
    return this.rows.length >= this.#query.maxItems || this.#chars >= this.#query.maxChars
  }

  /** Takes rows until the page is full, and then the rest of the same transaction. */
  #take(rows: readonly Row[]): void {
    const { sizeOf } = this.#source
    for (const row of rows) {
      if (this.#limitReached() && row[0] !== this.rows.at(-1)?.[0]) {
        this.full = true
        return
      }
      this.#chars += sizeOf(row)
      this.rows.push(row)
    }
  }

  /** The number of rows that will hardly exceed the page's characters, estimated from the rows so far. */
  #rowsWanted(): number {
    const left = this.#query.maxItems - this.rows.length
    if (this.rows.length === 0) return Math.min(left, FIRST_ROWS)
    const average = Math.max(1, this.#chars / this.rows.length)
    const fitting = Math.ceil((this.#query.maxChars - this.#chars) / average)
    return Math.max(1, Math.min(left, fitting))
  }
}
