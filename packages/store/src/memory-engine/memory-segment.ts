import type { MemoryRow } from './memory-row.ts'

/** Fewer slots than this are not worth tidying up. */
const MIN_COMPACTED_SLOTS = 1024

/**
 * A run of the feed: rows in LSN order, only ever appended to. A row that is replaced leaves a hole;
 * once half of the slots are holes the rest is moved together, so that a page costs what it delivers.
 */
export class MemorySegment {
  readonly number: number
  /** The newest LSN given out here. A counter of its own: deleting the newest row must not lower it. */
  lsn: number
  readonly #rows: (MemoryRow | undefined)[] = []
  /** LSN of each slot, holes too, so that a position is found by halving. */
  readonly #lsns: number[] = []
  #holes = 0

  constructor(number: number, baseLsn: number) {
    this.number = number
    this.lsn = baseLsn
  }

  get slots(): number {
    return this.#rows.length
  }

  append(row: MemoryRow): void {
    row.slot = this.#rows.length
    this.#rows.push(row)
    this.#lsns.push(row.lsn)
  }

  remove(row: MemoryRow): void {
    this.#rows[row.slot] = undefined
    this.#holes++
    if (this.#rows.length >= MIN_COMPACTED_SLOTS && this.#holes * 2 > this.#rows.length) {
      this.#compact()
    }
  }

  rowAt(slot: number): MemoryRow | undefined {
    return this.#rows[slot]
  }

  /** LSN of a slot, also of a hole. */
  lsnAt(slot: number): number {
    return this.#lsns[slot] ?? this.lsn
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
