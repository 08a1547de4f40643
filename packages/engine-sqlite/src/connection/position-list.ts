import type { PositionList } from '@tidemark/store'

/** How the column `position.list` holds a group's positions. */
export function positionsText(positions: PositionList): string {
  return JSON.stringify(
    positions.map(({ range, lsn }) => [range.minInclusive, range.maxExclusive, lsn]),
  )
}

export function parsePositions(text: string): PositionList {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written by positionsText
  const entries = JSON.parse(text) as [string, string, number][]
  return entries.map(([minInclusive, maxExclusive, lsn]) => ({
    range: { minInclusive, maxExclusive },
    lsn,
  }))
}
