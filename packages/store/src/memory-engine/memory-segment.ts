/** Fewer slots than this are not worth compacting. */
const MIN_COMPACTED_SLOTS = 1024

/** An entry of a segment: a row of the feed, or an entry of the log of all versions. */
export interface SegmentRow {
  readonly lsn: number
  readonly epk: string
  /** Where it is now; only the segments use this. */
  segment: RowSegment | undefined
  slot: number
}

/** The part of a segment that a row uses. */
export interface RowSegment {
  remove(row: SegmentRow): void
}

/**
 * A run of rows in LSN order, append-only. A row that is replaced leaves a hole. Once half of the slots are holes, the
 * segment is compacted, so that a page costs what it delivers.
 */
export class MemorySegment<Row extends SegmentRow> implements RowSegment {
  readonly #rows: (Row | undefined)[] = []
  /** LSN of each slot, including holes, for binary search of a position. */
  readonly #lsns: number[] = []
  #holes = 0

  get slots(): number {
    return this.#rows.length
  }

  append(row: Row): void {
    row.segment = this
    row.slot = this.#rows.length
    this.#rows.push(row)
    this.#lsns.push(row.lsn)
  }

  remove(row: SegmentRow): void {
    this.#rows[row.slot] = undefined
    this.#holes++
    if (this.#rows.length >= MIN_COMPACTED_SLOTS && this.#holes * 2 > this.#rows.length) {
      this.#compact()
    }
  }

  rowAt(slot: number): Row | undefined {
    return this.#rows[slot]
  }

  /** The first slot above an LSN; `slots` if there is none. */
  slotAfter(afterLsn: number): number {
    let low = 0
    let high = this.#lsns.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#lsns[middle] ?? 0) <= afterLsn) low = middle + 1
      else high = middle
    }
    return low
  }

  #compact(): void {
    let slot = 0
    for (const row of this.#rows) {
      if (row === undefined) continue
      row.slot = slot
      this.#rows[slot] = row
      this.#lsns[slot] = row.lsn
      slot++
    }
    this.#rows.length = slot
    this.#lsns.length = slot
    this.#holes = 0
  }
}
