import type { Rank } from './rank.ts'

export interface RankedRow<T> {
  readonly rank: Rank
  readonly item: T
  /** When it was added, from 0. */
  readonly sequence: number
  chars: number
}

export interface TopRowsOptions {
  readonly maxRows: number
  /** Above it the last rows are given up, all but one. */
  readonly maxChars: number
  readonly compare: (left: Rank, right: Rank) => number
}

/**
 * Keeps the first rows of an order while all rows pass by, within bounds of rows and characters.
 * What is given up is never taken back, so that the rows kept are the first ones without a gap.
 */
export class TopRows<T> {
  readonly #options: TopRowsOptions
  readonly #rows: RankedRow<T>[] = []
  readonly #byTie = new Map<string, RankedRow<T>>()
  #chars = 0
  #sequence = 0
  #overflowed = false
  /** The first row that was given up: nothing from it on is kept. */
  #end: Rank | undefined

  constructor(options: TopRowsOptions) {
    this.#options = options
  }

  /** True once a row was refused or given up. */
  get overflowed(): boolean {
    return this.#overflowed
  }

  get size(): number {
    return this.#rows.length
  }

  /** Characters of the rows that are kept. */
  get chars(): number {
    return this.#chars
  }

  /** The row with that tie, where ties are unique. */
  withTie(tie: string): T | undefined {
    return this.#byTie.get(tie)?.item
  }

  /** Whether the row is among the first so far. A refusal is remembered as an overflow. */
  admits(rank: Rank): boolean {
    const { compare, maxRows } = this.#options
    const last = this.#rows.at(-1)
    const isFull = this.#rows.length >= maxRows
    const admitted =
      (this.#end === undefined || compare(rank, this.#end) < 0) &&
      (!isFull || (last !== undefined && compare(rank, last.rank) < 0))
    this.#overflowed ||= !admitted
    return admitted
  }

  /** Adds a row that `admits` let in. */
  add(rank: Rank, item: T, { chars }: { chars: number }): void {
    const row: RankedRow<T> = { rank, item, sequence: this.#sequence++, chars }
    this.#rows.splice(this.#placeOf(rank), 0, row)
    this.#byTie.set(rank.tie, row)
    this.#chars += chars
    this.#giveUpSurplus()
  }

  /** A row that is kept became larger. */
  grow(tie: string, chars: number): void {
    const row = this.#byTie.get(tie)
    if (row === undefined) return
    row.chars += chars
    this.#chars += chars
    this.#giveUpSurplus()
  }

  #giveUpSurplus(): void {
    const { maxRows, maxChars } = this.#options
    while (this.#rows.length > maxRows || (this.#chars > maxChars && this.#rows.length > 1)) {
      this.#giveUpLast()
    }
  }

  /** The rows kept, in order. */
  inOrder(): readonly RankedRow<T>[] {
    return this.#rows
  }

  /** The rows kept, as they came. */
  asTheyCame(): readonly RankedRow<T>[] {
    return this.#rows.toSorted((left, right) => left.sequence - right.sequence)
  }

  #placeOf(rank: Rank): number {
    let low = 0
    let high = this.#rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#options.compare(this.#rows[middle]!.rank, rank) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #giveUpLast(): void {
    const last = this.#rows.pop()
    if (last === undefined) return
    this.#chars -= last.chars
    this.#byTie.delete(last.rank.tie)
    this.#overflowed = true
    this.#end = last.rank
  }
}
