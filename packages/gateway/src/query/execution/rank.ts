import { comparePrimitives } from '../values/compare.ts'
import { compareSortValues, type SortValue } from '../values/sort-value.ts'

/** A row's place in the order of a query; no two rows have the same. */
export interface Rank {
  /** Of ORDER BY. */
  readonly keys: readonly SortValue[]
  /** Settles ties: the document's `_rid`, or the hash of the row where equal rows are one. */
  readonly tie: string
  /** Of the row among those of its document. */
  readonly ordinal: number
}

/** Which of the keys descend. */
export type Directions = readonly boolean[]

/**
 * Whether equal rows stand in descending order, too, as in the service: clients that go on in the midst of such rows rely on
 * it, or on the header that says so.
 */
export function isReversed(descending: Directions): boolean {
  return descending.includes(true)
}

export function compareRanks(left: Rank, right: Rank, descending: Directions): number {
  for (const [index, key] of left.keys.entries()) {
    const order = compareSortValues(key, right.keys[index])
    if (order !== 0) return descending[index] === true ? -order : order
  }
  const byTie = comparePrimitives(left.tie, right.tie)
  return (isReversed(descending) ? -byTie : byTie) || left.ordinal - right.ordinal
}

/**
 * The place after which a page goes on. Usually the whole rank of the last row. Where that would make
 * the continuation too long, only the beginning of a text key and what stands before it, and how many
 * of the rows that begin so have been given.
 */
export type Boundary =
  | { readonly kind: 'exact'; readonly rank: Rank }
  | {
      readonly kind: 'prefix'
      /** The last one is a text of which only this beginning is known. */
      readonly keys: readonly SortValue[]
      readonly given: number
    }

/** Where a row stands: `within` = among those that share the boundary's beginning. */
export function placeOf(
  rank: Rank,
  boundary: Boundary,
  descending: Directions,
): 'before' | 'within' | 'after' {
  if (boundary.kind === 'exact') {
    return compareRanks(rank, boundary.rank, descending) <= 0 ? 'before' : 'after'
  }
  const last = boundary.keys.length - 1
  for (const [index, wanted] of boundary.keys.entries()) {
    const key = rank.keys[index]
    const isPrefix = index === last && typeof wanted === 'string'
    if (isPrefix && typeof key === 'string' && key.startsWith(wanted)) return 'within'
    const order = compareSortValues(key, wanted)
    if (order !== 0) return order < 0 !== (descending[index] === true) ? 'before' : 'after'
  }
  return 'within'
}
