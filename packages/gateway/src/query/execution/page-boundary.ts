import { placeOf, type Boundary, type Directions, type Rank } from './rank.ts'

/** Characters that the text keys of a boundary may have together, so that a token stays below 1 KiB. */
const MAX_KEY_CHARS = 100

/** How many rows after the boundary were given already. */
export function rowsToDrop(boundary: Boundary | undefined): number {
  return boundary?.kind === 'prefix' ? boundary.given : 0
}

/**
 * The boundary after the last of `given`, the rows of a page with those that were read again before it.
 * A text key is cut where it always is, whatever the page: so all rows given by earlier pages that begin
 * like a cut key were within their boundary too, have been read again, and can be counted here.
 */
export function boundaryAfter(
  given: readonly Rank[],
  descending: Directions,
): Boundary | undefined {
  const last = given.at(-1)
  if (last === undefined) return undefined
  const length = Math.max(Math.floor(MAX_KEY_CHARS / Math.max(last.keys.length, 1)), 10)
  const cut = last.keys.findIndex((key) => typeof key === 'string' && key.length >= length)
  if (cut < 0) return { kind: 'exact', rank: last }
  const keys = last.keys
    .slice(0, cut + 1)
    .map((key, index) => (index === cut && typeof key === 'string' ? key.slice(0, length) : key))
  const begin: Boundary = { kind: 'prefix', keys, given: 0 }
  const within = given.filter((rank) => placeOf(rank, begin, descending) === 'within')
  return { ...begin, given: within.length }
}
