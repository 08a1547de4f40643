import { ResourceNotFoundError } from '@tidemark/contracts'
import type { CollectionRecord } from '@tidemark/store/engine'
import { collectionRecord } from '../catalog/collection-row.ts'
import { DATABASE_COLUMNS, databaseRow, type DatabaseRow } from '../catalog/database-row.ts'
import type { ReadContext } from './read-context.ts'

const LIST = `SELECT ${DATABASE_COLUMNS} FROM :schema.database ORDER BY id`
const FIND = `SELECT ${DATABASE_COLUMNS} FROM :schema.database WHERE id = $1`
const COLLECTIONS = `SELECT c.number, c.id, c.rid, c.definition, c.eras, c.etag, c.ts
FROM :schema.database b LEFT JOIN :schema.collection c ON c.db = b.number
WHERE b.number = $1 ORDER BY c.number`

export async function listDatabases({
  connections,
  statements,
}: ReadContext): Promise<readonly DatabaseRow[]> {
  return (await connections.read(statements.of(LIST))).map(databaseRow)
}

export async function findDatabase(
  { connections, statements }: ReadContext,
  id: string,
): Promise<DatabaseRow | undefined> {
  const [row] = await connections.read(statements.of(FIND), [id])
  return row && databaseRow(row)
}

/** Rejects with ERR_NOT_FOUND when the database is gone. */
export async function listCollections(
  { connections, statements }: ReadContext,
  { number, record }: DatabaseRow,
): Promise<readonly CollectionRecord[]> {
  const rows = await connections.read(statements.of(COLLECTIONS), [number])
  if (rows.length === 0) throw new ResourceNotFoundError('database', record.id)
  return rows.filter((row) => row[0] !== null).map(collectionRecord)
}
