import type { FeedRange } from '@tidemark/contracts'
import { raiseHorizon } from '@tidemark/store'
import { horizonsText, parseHorizons, type CollectionRow } from '../connection/catalog-rows.ts'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Tells every range that has one of the segments up to which LSN something of it was purged. */
export function raiseHorizons(
  connection: Connection,
  { ranges }: CollectionRow,
  {
    column,
    purgedUpTo,
  }: {
    readonly column: 'horizon' | 'loghorizon'
    /** By segment. */
    readonly purgedUpTo: ReadonlyMap<number, number>
  },
): void {
  if (purgedUpTo.size === 0) return
  for (const range of ranges) {
    for (const segment of range.segments) {
      const lsn = purgedUpTo.get(segment.id)
      if (lsn === undefined) continue
      const row = connection.get(`SELECT ${column} FROM segment WHERE id = ?`, range.segment) ?? []
      const horizons = parseHorizons(textColumn(row, 0))
      connection.run(
        `UPDATE segment SET ${column} = ? WHERE id = ?`,
        horizonsText(raiseHorizon(horizons, { range: common(segment, range), lsn })),
        range.segment,
      )
    }
  }
}

/** The keys that both have: a range's segment always has some of its keys. */
function common(a: FeedRange, b: FeedRange): FeedRange {
  return {
    minInclusive: a.minInclusive > b.minInclusive ? a.minInclusive : b.minInclusive,
    maxExclusive: a.maxExclusive < b.maxExclusive ? a.maxExclusive : b.maxExclusive,
  }
}
