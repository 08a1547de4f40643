import { FULL_RANGE, commonKeys, rangeContainsEpk, type FeedRange } from '@tidemark/contracts'

/** How far one processor group has come, by parts of the keys. The parts are disjoint and in EPK order. */
export type PositionList = readonly PositionPart[]

export interface PositionPart {
  readonly range: FeedRange
  readonly lsn: number
}

/** The list after reports. The last report for a key counts, even if it is lower: a group may have been moved back. */
export function withPositions(
  positions: PositionList,
  reported: readonly PositionPart[],
): PositionList {
  const sorted = reported.toSorted(byKeys)
  // Reports of one host have different keys, so one walk over both lists is enough for any number of leases.
  if (!areDisjoint(sorted)) {
    const middle = reported.length >> 1
    const earlier = withPositions([], reported.slice(0, middle))
    const resolved = withPositions(earlier, withPositions([], reported.slice(middle)))
    return withPositions(positions, resolved)
  }
  const kept: PositionPart[] = []
  let first = 0
  for (const { range, lsn } of positions) {
    while (sorted[first] !== undefined && endsBefore(sorted[first], range)) first += 1
    let { minInclusive } = range
    for (let next = first; next < sorted.length; next += 1) {
      const other = sorted[next]?.range
      if (other === undefined || other.minInclusive >= range.maxExclusive) break
      if (minInclusive < other.minInclusive) {
        kept.push({ range: { minInclusive, maxExclusive: other.minInclusive }, lsn })
      }
      minInclusive = other.maxExclusive
    }
    const { maxExclusive } = range
    if (minInclusive < maxExclusive) kept.push({ range: { minInclusive, maxExclusive }, lsn })
  }
  return [...kept, ...sorted].toSorted(byKeys)
}

function byKeys(a: PositionPart, b: PositionPart): number {
  return a.range.minInclusive < b.range.minInclusive ? -1 : 1
}

function areDisjoint(sorted: readonly PositionPart[]): boolean {
  return sorted.every((part, index) => {
    const next = sorted[index + 1]
    return next === undefined || part.range.maxExclusive <= next.range.minInclusive
  })
}

function endsBefore(part: PositionPart | undefined, range: FeedRange): boolean {
  return part !== undefined && part.range.maxExclusive <= range.minInclusive
}

/** The group's position at one key; 0 where it never reported. */
export function positionAt(positions: PositionList, epk: string): number {
  return positions.find(({ range }) => rangeContainsEpk(range, epk))?.lsn ?? 0
}

/**
 * The keys around one key for which every waiting group has a single position. A purge raises the horizon of these keys
 * only. Otherwise, after a merge, what one lease has passed would make another lease of the same range appear late.
 */
export function positionPart(
  waitFor: readonly string[],
  positionsOf: (group: string) => PositionList,
  epk: string,
): FeedRange {
  let part = FULL_RANGE
  for (const group of waitFor) {
    const position = positionsOf(group).find(({ range }) => rangeContainsEpk(range, epk))
    if (position !== undefined) part = commonKeys(part, position.range) ?? part
  }
  return part
}

/** Whether every waiting group has passed `lsn` at that key (TTL-14). */
export function allArePast(
  waitFor: readonly string[],
  positionsOf: (group: string) => PositionList,
  { epk, lsn }: { readonly epk: string; readonly lsn: number },
): boolean {
  return waitFor.every((group) => positionAt(positionsOf(group), epk) >= lsn)
}

/** As engines store a group's positions in a column. */
export function positionsText(positions: PositionList): string {
  return JSON.stringify(
    positions.map(({ range, lsn }) => [range.minInclusive, range.maxExclusive, lsn]),
  )
}

/** Parses a text that `positionsText` made. */
export function parsePositions(text: string): PositionList {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written by positionsText
  const entries = JSON.parse(text) as [string, string, number][]
  return entries.map(([minInclusive, maxExclusive, lsn]) => ({
    range: { minInclusive, maxExclusive },
    lsn,
  }))
}
