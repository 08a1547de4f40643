import type { FeedRange } from '@tidemark/contracts'
import { commonKeys, raiseHorizon, type Horizons } from '@tidemark/store'
import { horizonsText, parseHorizons, type CollectionRow } from '../connection/catalog-rows.ts'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { nextPurgeStamp } from '../connection/head.ts'

/** Rows of some keys that were removed from a segment, all of them up to one LSN. */
export interface PurgedPart {
  readonly segment: number
  readonly keys: FeedRange
  readonly lsn: number
}

/** Tells every range that has one of the segments up to which LSN something of it was purged. */
export function raiseHorizons(
  connection: Connection,
  { ranges }: CollectionRow,
  {
    column,
    purged,
    timeMs,
  }: {
    readonly column: 'horizon' | 'loghorizon'
    readonly purged: readonly PurgedPart[]
    /** The store's clock, epoch ms. */
    readonly timeMs: number
  },
): void {
  if (purged.length === 0) return
  const stamp = nextPurgeStamp(connection, timeMs)
  for (const range of ranges) {
    let raised: Horizons | undefined
    for (const segment of range.segments) {
      const keys = commonKeys(segment, range)
      for (const part of purged) {
        const concerned =
          part.segment === segment.id ? keys && commonKeys(keys, part.keys) : undefined
        if (concerned === undefined) continue
        raised ??= readHorizons(connection, range.segment, column)
        raised = raiseHorizon(raised, { range: concerned, lsn: part.lsn, stamp })
      }
    }
    if (raised === undefined) continue
    const text = horizonsText(raised)
    connection.run(`UPDATE segment SET ${column} = ? WHERE id = ?`, text, range.segment)
  }
}

function readHorizons(
  connection: Connection,
  segment: number,
  column: 'horizon' | 'loghorizon',
): Horizons {
  const row = connection.get(`SELECT ${column} FROM segment WHERE id = ?`, segment) ?? []
  return parseHorizons(textColumn(row, 0))
}
