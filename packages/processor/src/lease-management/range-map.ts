import type { FeedRange } from '@tidemark/contracts'

interface Entry<Value> {
  readonly range: FeedRange
  readonly value: Value
}

/** A value for each key of some ranges. What it does takes a time that hardly grows with their number. */
export class RangeMap<Value> {
  /** In the order of their keys, of which no two have any in common. */
  readonly #entries: Entry<Value>[] = []

  /** The ranges that have keys in common with this one. */
  overlapping(range: FeedRange): readonly Entry<Value>[] {
    const { first, end } = this.#span(range)
    return this.#entries.slice(first, end)
  }

  /** Also keys that had another value get this one. */
  set({ minInclusive, maxExclusive }: FeedRange, value: Value): void {
    this.#put({ minInclusive, maxExclusive }, [{ range: { minInclusive, maxExclusive }, value }])
  }

  delete(range: FeedRange): void {
    this.#put(range, [])
  }

  #put(range: FeedRange, entries: readonly Entry<Value>[]): void {
    const { first, end } = this.#span(range)
    const [before, after] = [this.#entries[first], this.#entries[end - 1]]
    const { minInclusive, maxExclusive } = range
    const left =
      first < end && before !== undefined && before.range.minInclusive < minInclusive
        ? [{ ...before, range: { ...before.range, maxExclusive: minInclusive } }]
        : []
    const right =
      first < end && after !== undefined && maxExclusive < after.range.maxExclusive
        ? [{ ...after, range: { ...after.range, minInclusive: maxExclusive } }]
        : []
    this.#entries.splice(first, end - first, ...left, ...entries, ...right)
  }

  /** Where those stand that have keys in common with a range. */
  #span({ minInclusive, maxExclusive }: FeedRange): { first: number; end: number } {
    const first = this.#count(({ range }) => range.maxExclusive <= minInclusive)
    const end = this.#count(({ range }) => range.minInclusive < maxExclusive)
    return { first, end: Math.max(first, end) }
  }

  /** How many of the first ones something is true of: of all before one of which it is. */
  #count(isTrue: (entry: Entry<Value>) => boolean): number {
    let [from, to] = [0, this.#entries.length]
    while (from < to) {
      const middle = (from + to) >> 1
      const entry = this.#entries[middle]
      if (entry !== undefined && isTrue(entry)) from = middle + 1
      else to = middle
    }
    return from
  }
}
