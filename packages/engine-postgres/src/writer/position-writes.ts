import { ResourceNotFoundError, lsn as checkedLsn, type GroupPosition } from '@tidemark/contracts'
import {
  parsePositions,
  positionsText,
  withPositions,
  type CollectionRecord,
} from '@tidemark/store/engine'
import { textColumn } from '../connection/columns.ts'
import type { ReadContext } from '../reader/read-context.ts'

const LOCK_COLLECTION = 'SELECT 1 FROM :schema.collection WHERE number = $1 FOR KEY SHARE'
const BEGIN = `INSERT INTO :schema.position(coll, grp, list) VALUES ($1, $2, '[]') ON CONFLICT DO NOTHING`
const READ = 'SELECT list FROM :schema.position WHERE coll = $1 AND grp = $2 FOR UPDATE'
const STORE = 'UPDATE :schema.position SET list = $3 WHERE coll = $1 AND grp = $2'
const READ_GROUP = `SELECT p.list FROM :schema.collection c
LEFT JOIN :schema.position p ON p.coll = c.number AND p.grp = $2 WHERE c.number = $1`

/** Stores how far processor groups have come. The last report of a range counts. */
export async function storePositions(
  { connections, statements }: ReadContext,
  { number, id }: CollectionRecord,
  positions: readonly GroupPosition[],
): Promise<void> {
  if (positions.length === 0) return
  await connections.transaction(async (sql) => {
    const found = await sql.rows(statements.of(LOCK_COLLECTION), [number])
    if (found.length === 0) throw new ResourceNotFoundError('collection', id)
    const groups = [...Map.groupBy(positions, (position) => position.group)]
    for (const [group, reported] of groups.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      await sql.rows(statements.of(BEGIN), [number, group])
      const [row = []] = await sql.rows(statements.of(READ), [number, group])
      const parts = reported.map(({ range, lsn }) => ({ range, lsn }))
      const list = withPositions(parsePositions(textColumn(row, 0)), parts)
      await sql.rows(statements.of(STORE), [number, group, positionsText(list)])
    }
  })
}

/** Rejects with ERR_NOT_FOUND. */
export async function readPositions(
  { connections, statements }: ReadContext,
  { number, id }: CollectionRecord,
  group: string,
): Promise<readonly GroupPosition[]> {
  const [row] = await connections.read(statements.of(READ_GROUP), [number, group])
  if (row === undefined) throw new ResourceNotFoundError('collection', id)
  if (row[0] === null) return []
  return parsePositions(textColumn(row, 0)).map(({ range, lsn }) => ({
    group,
    range,
    lsn: checkedLsn(lsn),
  }))
}
