import { ResourceExistsError, ResourceNotFoundError } from '@tidemark/contracts'
import {
  annotatedDatabase,
  databaseRid,
  recordEtag,
  type DatabaseRecord,
} from '@tidemark/store/engine'
import { DATABASE_COLUMNS, databaseRow, type DatabaseRow } from '../catalog/database-row.ts'
import { numberColumn } from '../connection/columns.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { nextNumber } from '../schema/next-number.ts'
import { removeCollectionRows } from './collection-writes.ts'

const INSERT = `INSERT INTO :schema.database(number, id, rid, etag, ts, annotation, clock, holder, until, purge)
VALUES ($1, $2, $3, $4, $5, $6, 0, '', 0, 0) ON CONFLICT (id) DO NOTHING RETURNING number`

const LOCK = `SELECT ${DATABASE_COLUMNS} FROM :schema.database WHERE id = $1 FOR UPDATE`
const ANNOTATE = 'UPDATE :schema.database SET etag = $2, ts = $3, annotation = $4 WHERE number = $1'

/** Their rows are removed later; see `removeDropped`. */
const DROP_MESSAGES = [
  `SELECT c.number FROM :schema.entity_counter c JOIN :schema.entity e ON e.number = c.number
WHERE e.db = $1 ORDER BY c.number FOR UPDATE OF c`,
  `DELETE FROM :schema.entity_counter c USING :schema.entity e WHERE e.number = c.number AND e.db = $1`,
  `DELETE FROM :schema.entity_access a USING :schema.entity e WHERE e.number = a.number AND e.db = $1`,
  `UPDATE :schema.entity SET dropped = true WHERE db = $1 AND NOT dropped`,
  `DELETE FROM :schema.message_clock WHERE db = $1`,
]

/** Rejects with ERR_EXISTS. */
export async function insertDatabase(
  { connections, statements }: ReadContext,
  {
    id,
    storeId,
    ts,
    annotation,
  }: {
    readonly id: string
    readonly storeId: string
    readonly ts: number
    readonly annotation: string | undefined
  },
): Promise<DatabaseRow> {
  const next = statements.of(`SELECT ${nextNumber('database_number')}`)
  const [numbered = []] = await connections.write(next)
  const number = numberColumn(numbered, 0)
  const rid = databaseRid(storeId, number)
  const etag = recordEtag(rid, ts)
  const values = [number, id, rid, etag, ts, annotation ?? null]
  const made = await connections.write(statements.of(INSERT), values)
  if (made.length === 0) throw new ResourceExistsError('database', id)
  return { number, record: { id, rid, etag, ts, ...(annotation !== undefined && { annotation }) } }
}

/** See `StorageEngine.annotateDatabase`. */
export async function annotateDatabase(
  { connections, statements, clock }: ReadContext,
  { id, rid }: DatabaseRecord,
  { annotation, ifMatch }: { readonly annotation: string; readonly ifMatch: string | undefined },
): Promise<DatabaseRecord> {
  return connections.transaction(async (sql) => {
    const [row] = await sql.rows(statements.of(LOCK), [id])
    const present = row && databaseRow(row)
    if (present?.record.rid !== rid) throw new ResourceNotFoundError('database', id)
    const nowMs = clock.nowMs()
    const changed = annotatedDatabase(present.record, annotation, { nowMs, ifMatch })
    const values = [present.number, changed.etag, changed.ts, annotation]
    await sql.rows(statements.of(ANNOTATE), values)
    return changed
  })
}

/** Removes a database and its collections from the catalog. Rejects with ERR_NOT_FOUND. */
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
    for (const statement of DROP_MESSAGES) await sql.rows(statements.of(statement), [number])
    await sql.rows(statements.of('DELETE FROM :schema.database WHERE number = $1'), [number])
  })
}
