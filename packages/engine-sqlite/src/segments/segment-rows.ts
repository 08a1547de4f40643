import { rangeContains, type FeedRange } from '@tidemark/contracts'
import type { SegmentRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Condition } from '../connection/live-rows.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'

/** A row of `doc` or `log`: the LSN first, then the requested columns. */
export type LsnRow = readonly [lsn: number, ...columns: unknown[]]

/** What to read of segments' rows. */
export interface RowSelection {
  readonly table: 'doc' | 'log'
  /** After `lsn`, which always comes first. */
  readonly columns: readonly string[]
  /** The texts that are left out of rows with large texts; undefined where no texts are requested. */
  readonly texts?: RowTexts | undefined
  /** Only rows with keys of this range. */
  readonly range: FeedRange
  /** Only these rows. */
  readonly condition: Condition | undefined
}

/** A row's texts. Their size is stored at the row's beginning, so SQLite can get it without reading them. */
export interface RowTexts {
  /** In bytes, as SQL. */
  readonly size: string
  /** Columns that are NULL in a row whose texts were left out; the first of them is never NULL otherwise. */
  readonly columns: readonly string[]
}

/** Rows with LSNs in (afterLsn, untilLsn], at most `limit` and those that belong to the last one. */
export interface WantedRows {
  readonly afterLsn: number
  readonly untilLsn: number
  readonly limit: number
  /**
   * Rows with more bytes of texts are read without them. The value becomes part of the statement, so use few values.
   */
  readonly maxRowBytes?: number | undefined
}

/**
 * Whether a position can be any LSN. `own`: the range has one segment, and a position is the end of one of its
 * transactions. `any`: it may come from another segment, and then be within the slots of a transaction that has a
 * higher LSN.
 */
export type Positions = 'own' | 'any'

/** Rows of one segment in LSN order. */
export interface SegmentPart<Row extends LsnRow> {
  readonly rows: readonly Row[]
  /** All rows up to here are in `rows`: where they were cut, or the end of the request. */
  readonly throughLsn: number
  /** Some of the rows are without their texts. */
  readonly lacksTexts: boolean
}

/** A limit that no read reaches. */
export const NO_LIMIT: number = 2 ** 40

type RowsThrough<Row extends LsnRow> = Omit<SegmentPart<Row>, 'lacksTexts'>

/** Reads rows of segments by LSN, never a part of a transaction. Within one snapshot. */
export class SegmentRows<Row extends LsnRow> {
  readonly #connection: Connection
  readonly #selection: RowSelection
  readonly #positions: Positions
  /** For dense segments: the row number that a reader has reached, which would otherwise need a search. */
  readonly #places = new Map<number, { readonly lsn: number; readonly seq: number }>()

  constructor(connection: Connection, selection: RowSelection, positions: Positions) {
    this.#connection = connection
    this.#selection = selection
    this.#positions = positions
  }

  read(segment: SegmentRow, wanted: WantedRows): SegmentPart<Row> {
    const { rows, throughLsn } = segment.dense
      ? this.#readDense(segment, wanted)
      : this.#readSparse(segment, wanted)
    return { rows, throughLsn, lacksTexts: this.#lacksTexts(rows, wanted) }
  }

  #lacksTexts(rows: readonly Row[], { maxRowBytes }: WantedRows): boolean {
    const { columns, texts } = this.#selection
    const [first] = texts?.columns ?? []
    if (maxRowBytes === undefined || first === undefined) return false
    const index = columns.indexOf(first) + 1
    return rows.some((row) => row[index] === null)
  }

  /** The LSN up to which a segment is known to have nothing above `afterLsn`: folded segments may have wide gaps. */
  emptyThrough(segment: SegmentRow, afterLsn: number): number {
    if (!segment.dense) return afterLsn
    const next = this.#connection.get(
      `SELECT lsn FROM ${this.#selection.table} WHERE seq > ? AND seq < ? ORDER BY seq LIMIT 1`,
      this.#placeOf(segment, afterLsn),
      (segment.id + 1) * SEGMENT_SLOTS,
    )
    return next === undefined ? Infinity : numberColumn(next, 0) - 1
  }

  #readSparse(segment: SegmentRow, wanted: WantedRows): RowsThrough<Row> {
    const { afterLsn, untilLsn, limit } = wanted
    const offset = segment.id * SEGMENT_SLOTS - segment.base
    const start = this.#startSlot(segment, afterLsn)
    const rows = this.#select(segment, [offset + start, offset + untilLsn], wanted)
    const last = rows.at(-1)
    if (last === undefined || (rows.length < limit && last[0] <= untilLsn)) {
      return { rows, throughLsn: untilLsn }
    }
    if (this.#positions === 'any' && last[0] > untilLsn) {
      // Above the end, another segment's rows may come first.
      return { rows: rows.filter((row) => row[0] <= untilLsn), throughLsn: untilLsn }
    }
    // Either limit may have cut a transaction. Its slots end at its LSN: if none is missing since the previous
    // transaction, it is whole.
    const taken = countOfLast(rows)
    const before = Math.max(rows.at(-1 - taken)?.[0] ?? start, segment.base)
    const throughLsn = last[0]
    if (throughLsn - before === taken) return { rows, throughLsn }
    const ofLast = { ...wanted, limit: NO_LIMIT }
    const whole = this.#select(segment, [offset + before, offset + throughLsn], ofLast)
    return { rows: [...rows.slice(0, -taken), ...whole], throughLsn }
  }

  /** The slot, counted as LSN, after which the rows above `afterLsn` are. */
  #startSlot({ id, base }: SegmentRow, afterLsn: number): number {
    if (afterLsn <= base) return base
    if (this.#positions === 'own') return afterLsn
    const { table } = this.#selection
    const first = id * SEGMENT_SLOTS
    const upTo = first - base + afterLsn
    const nearest = this.#connection.get(
      `SELECT lsn FROM ${table} WHERE seq <= ? AND seq >= ? ORDER BY seq DESC LIMIT 1`,
      upTo,
      first,
    )
    if (nearest === undefined || numberColumn(nearest, 0) <= afterLsn) return afterLsn
    const before = this.#connection.get(
      `SELECT seq FROM ${table} WHERE seq <= ? AND seq >= ? AND lsn <= ? ORDER BY seq DESC LIMIT 1`,
      upTo,
      first,
      afterLsn,
    )
    return before === undefined ? base : numberColumn(before, 0) - first + base
  }

  #readDense(segment: SegmentRow, wanted: WantedRows): RowsThrough<Row> {
    const { afterLsn, untilLsn, limit } = wanted
    const start = this.#placeOf(segment, afterLsn)
    const end =
      untilLsn >= segment.lsn
        ? (segment.id + 1) * SEGMENT_SLOTS - 1
        : this.#search(segment, untilLsn)
    const rows = this.#select(segment, [start, end], wanted)
    if (rows.length < limit) {
      this.#places.set(segment.id, { lsn: untilLsn, seq: end })
      return { rows, throughLsn: untilLsn }
    }
    const throughLsn = rows.at(-1)?.[0] ?? untilLsn
    const taken = countOfLast(rows)
    const after = this.#search(segment, throughLsn)
    this.#places.set(segment.id, { lsn: throughLsn, seq: after })
    const before = rows.length === taken ? start : this.#search(segment, throughLsn - 1)
    const whole = this.#select(segment, [before, after], { ...wanted, limit: NO_LIMIT })
    return { rows: [...rows.slice(0, -taken), ...whole], throughLsn }
  }

  #placeOf(segment: SegmentRow, afterLsn: number): number {
    const place = this.#places.get(segment.id)
    return place?.lsn === afterLsn ? place.seq : this.#search(segment, afterLsn)
  }

  /** Row number of a dense segment's last row up to `lsn`, by binary search. */
  #search({ id }: SegmentRow, lsn: number): number {
    const { table } = this.#selection
    const first = id * SEGMENT_SLOTS
    const end = first + SEGMENT_SLOTS
    const newest = this.#connection.get(
      `SELECT seq, lsn FROM ${table} WHERE seq >= ? AND seq < ? ORDER BY seq DESC LIMIT 1`,
      first,
      end,
    )
    if (newest === undefined) return first - 1
    let low = first
    let high = numberColumn(newest, 0) + 1
    if (numberColumn(newest, 1) <= lsn) return high - 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const row = this.#connection.get(
        `SELECT seq, lsn FROM ${table} WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT 1`,
        middle,
        end,
      )
      if (row === undefined || numberColumn(row, 1) > lsn) high = middle
      else low = numberColumn(row, 0) + 1
    }
    return low - 1
  }

  #select(
    segment: SegmentRow,
    [afterSeq, untilSeq]: [number, number],
    { limit, maxRowBytes }: WantedRows,
  ): readonly Row[] {
    const { table, range, condition } = this.#selection
    const within = rangeContains(range, segment) ? '' : ' AND epk >= ? AND epk < ?'
    const also = condition === undefined ? '' : ` AND ${condition.sql}`
    const rows = this.#connection.all(
      `SELECT ${this.#columns(maxRowBytes)} FROM ${table} WHERE seq > ? AND seq <= ?${within}${also} ORDER BY seq LIMIT ? + 0`,
      afterSeq,
      untilSeq,
      ...(within === '' ? [] : [range.minInclusive, range.maxExclusive]),
      ...(condition?.values ?? []),
      limit,
    )
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the columns' types are the schema's; a check a row would cost a tenth of a page
    return rows as unknown as readonly Row[]
  }

  #columns(maxRowBytes: number | undefined): string {
    const { columns, texts } = this.#selection
    const selected = columns.map((column) =>
      maxRowBytes !== undefined && texts?.columns.includes(column) === true
        ? `iif(${texts.size} <= ${maxRowBytes}, ${column}, NULL)`
        : column,
    )
    return ['lsn', ...selected].join(', ')
  }
}

/** Rows of several segments, each in LSN order, as one list in LSN order. */
export function mergeRows<Row extends LsnRow>(parts: readonly (readonly Row[])[]): readonly Row[] {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  // Sorting is stable, and each part is in order already, so this is a merge.
  return parts.flat().toSorted((a, b) => a[0] - b[0])
}

/** Number of rows at the end with the same LSN. */
function countOfLast(rows: readonly LsnRow[]): number {
  const lsn = rows.at(-1)?.[0]
  let count = 0
  while (rows.at(-1 - count)?.[0] === lsn && count < rows.length) count++
  return count
}
