import { rangeContains, type FeedRange } from '@tidemark/contracts'
import type {
  EngineFeedPage,
  FeedPageQuery,
  FeedRow,
  FeedStart,
  RangeCounter,
} from '@tidemark/store'
import type { RangeRow, SegmentRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'

const ROWS = 'SELECT lsn, kind, body FROM doc WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?'
const ROWS_WITHIN = `SELECT lsn, kind, body FROM doc
  WHERE seq > ? AND seq <= ? AND epk >= ? AND epk < ? ORDER BY seq LIMIT ?`

/** Slots that a page looks at when it filters by EPK: most rows may be others'. */
const MAX_FILTERED_SLOTS = 50_000
/** Rows of a page's first read; their size tells how many more fit. */
const FIRST_ROWS = 128
const ALL_ROWS = 2 ** 40

/** One page of a pkrange's feed, within the caller's snapshot: its segments' rows, oldest first. */
export function readFeedPage(
  connection: Connection,
  {
    query,
    range,
    counter,
  }: { readonly query: FeedPageQuery; readonly range: RangeRow; readonly counter: RangeCounter },
): EngineFeedPage {
  const page = new PageBuilder(connection, query, range)
  for (const [index, segment] of range.segments.entries()) {
    const open = index === range.segments.length - 1
    page.readSegment(segment, open ? counter.lsn : segment.lsn)
    if (page.full) break
  }
  const lsn = page.lsn(counter.lsn)
  return { rows: page.rows, lsn, epoch: counter.epoch, caughtUp: lsn >= counter.lsn }
}

/** The LSN after which a reader begins. */
export function startLsn(
  connection: Connection,
  {
    range,
    start,
    counter,
  }: {
    readonly range: RangeRow
    readonly start: FeedStart
    readonly counter: RangeCounter
  },
): number {
  if (start.kind === 'beginning') return 0
  if (start.kind === 'now') return counter.lsn
  for (const [index, segment] of range.segments.entries()) {
    const open = index === range.segments.length - 1
    const slots = (open ? counter.lsn : segment.lsn) - segment.base
    const slot = firstSlotSince(connection, { segment: segment.id, slots, ts: start.ts })
    // Before the first row that is left of its transaction: the others of it come after that row.
    if (slot !== undefined) return segment.base + slot - 1
  }
  return counter.lsn
}

/** The first slot whose row was written at `ts` or later, by halving: `ts` never falls in a segment. */
function firstSlotSince(
  connection: Connection,
  { segment, slots, ts }: { readonly segment: number; readonly slots: number; readonly ts: number },
): number | undefined {
  const first = segment * SEGMENT_SLOTS
  const rowAtOrAfter = (slot: number): { slot: number; ts: number } | undefined => {
    const row = connection.get(
      'SELECT seq, ts FROM doc WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT 1',
      first + slot,
      first + slots,
    )
    return row && { slot: numberColumn(row, 0) - first, ts: numberColumn(row, 1) }
  }
  let low = 1
  let high = slots + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = rowAtOrAfter(middle)
    if (row === undefined || row.ts >= ts) high = middle
    else low = row.slot + 1
  }
  return rowAtOrAfter(low)?.slot
}

/** Collects rows up to the page's limits, and never ends between two rows of one LSN. */
class PageBuilder {
  readonly rows: FeedRow[] = []
  full = false
  readonly #connection: Connection
  readonly #query: FeedPageQuery
  readonly #whole: boolean
  #chars = 0
  #examinedLsn: number
  #slotsLeft = MAX_FILTERED_SLOTS

  constructor(connection: Connection, query: FeedPageQuery, range: FeedRange) {
    this.#connection = connection
    this.#query = query
    this.#whole = rangeContains(query.range, range)
    this.#examinedLsn = query.afterLsn
  }

  /** Position of the page: its last row, or what it looked at in vain. */
  lsn(counterLsn: number): number {
    const last = this.rows.at(-1)
    if (last !== undefined) return last[0]
    // Also when the query began above it: the caller then sees that its position is not of this feed.
    return this.full ? this.#examinedLsn : counterLsn
  }

  /** Reads the rows of one segment whose slots are above the page's position, up to `newestLsn`. */
  readSegment({ id, base }: SegmentRow, newestLsn: number): void {
    if (newestLsn <= this.#examinedLsn) return
    const offset = id * SEGMENT_SLOTS - base
    let afterLsn = Math.max(this.#examinedLsn, base)
    let untilLsn = newestLsn
    if (!this.#whole) {
      untilLsn = Math.min(newestLsn, afterLsn + this.#slotsLeft)
      this.#slotsLeft -= untilLsn - afterLsn
    }
    for (;;) {
      const wanted = this.#rowsWanted()
      const rows = this.#select(offset + afterLsn, offset + untilLsn, wanted)
      this.#take(rows)
      const last = rows.at(-1)
      // The page is full of characters already, and ends with a whole transaction.
      if (this.full) return
      // The end of the window may cut a transaction, as the end of the page may.
      if (last !== undefined) afterLsn = this.#completeTransaction({ id, base }, last[0])
      this.full = this.#limitReached()
      if (this.full) return
      if (rows.length < wanted) break
    }
    this.#examinedLsn = untilLsn
    this.full = !this.#whole && this.#slotsLeft <= 0
  }

  #limitReached(): boolean {
    return this.rows.length >= this.#query.maxItems || this.#chars >= this.#query.maxChars
  }

  /** Takes those rows of the page's last transaction that a limit cut off; returns its LSN. */
  #completeTransaction(
    { id, base }: { readonly id: number; readonly base: number },
    lsn: number,
  ): number {
    let taken = 0
    while (this.rows.at(-1 - taken)?.[0] === lsn) taken++
    // Not below the base: row numbers there are another segment's.
    const before = Math.max(this.rows.at(-1 - taken)?.[0] ?? this.#query.afterLsn, base)
    // A transaction's slots end at its LSN: with none missing since the one before, it is whole.
    if (lsn - before > taken) {
      const offset = id * SEGMENT_SLOTS - base
      const rows = this.#select(offset + before, offset + lsn, ALL_ROWS)
      this.#take(rows.filter((row) => row[0] === lsn).slice(taken))
    }
    return lsn
  }

  /** Takes rows until the page has its characters, and then those of the same transaction. */
  #take(rows: readonly FeedRow[]): void {
    for (const row of rows) {
      if (this.#chars >= this.#query.maxChars && row[0] !== this.rows.at(-1)?.[0]) {
        this.full = true
        return
      }
      this.#chars += row[2].length
      this.rows.push(row)
    }
  }

  /** So many that they will hardly exceed the page's characters, judged by the rows so far. */
  #rowsWanted(): number {
    const left = this.#query.maxItems - this.rows.length
    if (this.rows.length === 0) return Math.min(left, FIRST_ROWS)
    const average = Math.max(1, this.#chars / this.rows.length)
    const fitting = Math.ceil((this.#query.maxChars - this.#chars) / average)
    return Math.max(1, Math.min(left, fitting))
  }

  #select(afterSeq: number, untilSeq: number, limit: number): readonly FeedRow[] {
    const { minInclusive, maxExclusive } = this.#query.range
    const rows = this.#whole
      ? this.#connection.all(ROWS, afterSeq, untilSeq, limit)
      : this.#connection.all(ROWS_WITHIN, afterSeq, untilSeq, minInclusive, maxExclusive, limit)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the columns' types are the schema's; a check a row would cost a tenth of a page
    return rows as unknown as readonly FeedRow[]
  }
}
