import { rangeContainsEpk, type FeedRange } from '@tidemark/contracts'
import { MemorySegment, type SegmentRow } from './memory-segment.ts'
import { rowsByLsn } from './rows-by-lsn.ts'

/**
 * A pkrange's rows of one kind, in three groups of segments: inherited ones, which other ranges may have inherited too;
 * one into which it moves its own rows from those; and one that takes new rows.
 */
export class RangeRows<Row extends SegmentRow> {
  readonly #range: FeedRange
  #folded = new MemorySegment<Row>()
  #open = new MemorySegment<Row>()
  #inherited: readonly MemorySegment<Row>[]
  /** Rows up to it were moved. */
  #foldedLsn = 0

  constructor(range: FeedRange, inherited: readonly MemorySegment<Row>[] = []) {
    this.#range = range
    this.#inherited = inherited.filter(({ slots }) => slots > 0)
  }

  /** What successors inherit. */
  get segments(): readonly MemorySegment<Row>[] {
    return [this.#folded, ...this.#inherited, this.#open]
  }

  /** True while rows are in segments that other ranges may have too. */
  get isInherited(): boolean {
    return this.#inherited.length > 0
  }

  append(row: Row): void {
    this.#open.append(row)
  }

  /** Rows of `range`, which lies within this pkrange, above an LSN, in LSN order. */
  *after(afterLsn: number, range: FeedRange = this.#range): Generator<Row, void> {
    for (const row of rowsByLsn(this.segments, afterLsn)) {
      if (rangeContainsEpk(range, row.epk)) yield row
    }
  }

  /**
   * Removes rows, oldest first, while `mayGo` allows it: about `maxRows`, never part of a transaction. Returns them.
   */
  removeOldest(maxRows: number, mayGo: (row: Row) => boolean): readonly Row[] {
    const removed: Row[] = []
    for (const row of this.after(0)) {
      if (!mayGo(row) || (removed.length >= maxRows && row.lsn !== removed.at(-1)?.lsn)) break
      removed.push(row)
    }
    for (const row of removed) row.segment?.remove(row)
    return removed
  }

  /** Forgets all rows. */
  clear(): void {
    this.#folded = new MemorySegment<Row>()
    this.#open = new MemorySegment<Row>()
    this.#inherited = []
  }

  /**
   * Moves about `maxRows` inherited rows, oldest first, into a segment of this range's own. Never moves part of a
   * transaction: the order within one is that of one segment.
   */
  fold(maxRows: number): number {
    const moved: Row[] = []
    let isDone = true
    for (const row of rowsByLsn(this.#inherited, this.#foldedLsn)) {
      if (!rangeContainsEpk(this.#range, row.epk)) continue
      if (moved.length >= maxRows && row.lsn !== moved.at(-1)?.lsn) {
        isDone = false
        break
      }
      moved.push(row)
    }
    for (const row of moved) {
      row.segment?.remove(row)
      this.#folded.append(row)
    }
    this.#foldedLsn = moved.at(-1)?.lsn ?? this.#foldedLsn
    if (isDone) this.#inherited = []
    return moved.length
  }
}
