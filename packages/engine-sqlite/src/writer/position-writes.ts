import type { FeedRange } from '@tidemark/contracts'
import { parsePositions, positionsText, withPositions } from '@tidemark/store/engine'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Stores how far processor groups have come. The last report of a range counts. */
export function storePositions(
  connection: Connection,
  collection: number,
  positions: readonly {
    readonly group: string
    readonly range: FeedRange
    readonly lsn: number
  }[],
): void {
  for (const [group, reported] of Map.groupBy(positions, (position) => position.group)) {
    const sql = 'SELECT list FROM position WHERE coll = ? AND grp = ?'
    const row = connection.get(sql, collection, group)
    const before = row === undefined ? [] : parsePositions(textColumn(row, 0))
    const parts = reported.map(({ range, lsn }) => ({ range, lsn }))
    const list = positionsText(withPositions(before, parts))
    connection.run('INSERT OR REPLACE INTO position VALUES (?, ?, ?)', collection, group, list)
  }
}
