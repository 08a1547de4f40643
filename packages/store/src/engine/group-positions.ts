import { FULL_RANGE, commonKeys, rangeContainsEpk, type FeedRange } from '@tidemark/contracts'

/** How far one processor group has come, by parts of the keys; disjoint, in EPK order. */
export type PositionList = readonly PositionPart[]

export interface PositionPart {
  readonly range: FeedRange
  readonly lsn: number
}

/** The list after a report. The last report counts, also a lower one: a group may have been set back. */
export function withPosition(positions: PositionList, reported: PositionPart): PositionList {
  const below = { minInclusive: '', maxExclusive: reported.range.minInclusive }
  const above = { minInclusive: reported.range.maxExclusive, maxExclusive: 'FF' }
  return [...partsIn(positions, below), reported, ...partsIn(positions, above)]
}

function partsIn(positions: PositionList, keys: FeedRange): PositionList {
  return positions.flatMap(({ range, lsn }) => {
    const part = commonKeys(range, keys)
    return part === undefined ? [] : [{ range: part, lsn }]
  })
}

/** Where the group stands at one key; 0 where it never reported. */
export function positionAt(positions: PositionList, epk: string): number {
  return positions.find(({ range }) => rangeContainsEpk(range, epk))?.lsn ?? 0
}

/**
 * The keys around one that no group waited for tells apart: each has one position for all of them. A purge
 * raises the horizon of these keys only. Else, after a merge, what one lease has passed would make another
 * lease of the same range look late.
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

/** Whether every group that is waited for has come past `lsn` at that key (TTL-14). */
export function allArePast(
  waitFor: readonly string[],
  positionsOf: (group: string) => PositionList,
  { epk, lsn }: { readonly epk: string; readonly lsn: number },
): boolean {
  return waitFor.every((group) => positionAt(positionsOf(group), epk) >= lsn)
}

/** As engines keep a group's in a column. */
export function positionsText(positions: PositionList): string {
  return JSON.stringify(
    positions.map(({ range, lsn }) => [range.minInclusive, range.maxExclusive, lsn]),
  )
}

/** Of a text that `positionsText` made. */
export function parsePositions(text: string): PositionList {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written by positionsText
  const entries = JSON.parse(text) as [string, string, number][]
  return entries.map(([minInclusive, maxExclusive, lsn]) => ({
    range: { minInclusive, maxExclusive },
    lsn,
  }))
}
