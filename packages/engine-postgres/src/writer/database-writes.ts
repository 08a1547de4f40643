import { ResourceExistsError, ResourceNotFoundError } from '@tidemark/contracts'
import { databaseRid, recordEtag } from '@tidemark/store'
import type { DatabaseRow } from '../catalog/database-row.ts'
import { numberColumn } from '../connection/columns.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { nextNumber } from '../schema/next-number.ts'
import { removeCollectionRows } from './collection-writes.ts'

const INSERT = `INSERT INTO :schema.database(number, id, rid, etag, ts, clock, holder, until, purge)
VALUES ($1, $2, $3, $4, $5, 0, '', 0, 0) ON CONFLICT (id) DO NOTHING RETURNING number`

/** Rejects with ERR_EXISTS. */
export async function insertDatabase(
  { connections, statements }: ReadContext,
  { id, storeId, ts }: { readonly id: string; readonly storeId: string; readonly ts: number },
): Promise<DatabaseRow> {
  const next = statements.of(`SELECT ${nextNumber('database_number')}`)
  const [numbered = []] = await connections.write(next)
  const number = numberColumn(numbered, 0)
  const rid = databaseRid(storeId, number)
  const etag = recordEtag(rid, ts)
  const made = await connections.write(statements.of(INSERT), [number, id, rid, etag, ts])
  if (made.length === 0) throw new ResourceExistsError('database', id)
  return { number, record: { id, rid, etag, ts } }
}

/** Takes a database and its collections out of the catalog. Rejects with ERR_NOT_FOUND. */
export async function removeDatabase(
  { connections, statements }: ReadContext,
  id: string,
): Promise<void> {
  await connections.transaction(async (sql) => {
    const lock = 'SELECT number FROM :schema.database WHERE id = $1 FOR UPDATE'
    const [row] = await sql.rows(statements.of(lock), [id])
    if (row === undefined) throw new ResourceNotFoundError('database', id)
    const number = numberColumn(row, 0)
    const collections =
      'SELECT number FROM :schema.collection WHERE db = $1 ORDER BY number FOR UPDATE'
    for (const collection of await sql.rows(statements.of(collections), [number])) {
      await removeCollectionRows({ sql, statements }, numberColumn(collection, 0))
    }
    for (const table of ['fence', 'fence_job']) {
      await sql.rows(statements.of(`DELETE FROM :schema.${table} WHERE db = $1`), [number])
    }
    await sql.rows(statements.of('DELETE FROM :schema.database WHERE number = $1'), [number])
  })
}
