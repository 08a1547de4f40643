import { ResourceNotFoundError } from '@tidemark/contracts'
import type { CollectionName } from '../catalog/collection-cache.ts'
import type { CollectionRow } from '../catalog/collection-row.ts'
import { numberColumn } from '../connection/columns.ts'
import type { Sql } from '../connection/sql.ts'
import { storeTime, type ReadContext } from '../reader/read-context.ts'
import { NEXT_VERSION } from '../schema/next-version.ts'

const LOCK = `SELECT ${storeTime(2)} FROM :schema.collection c JOIN :schema.database b ON b.number = c.db
WHERE c.number = $1 FOR NO KEY UPDATE OF c`
const RAISE_VERSION = `UPDATE :schema.collection SET version = ${NEXT_VERSION} WHERE number = $1`

/** A collection that no other transaction changes until this one ends. Commits continue. */
export interface LockedCollection {
  readonly collection: CollectionRow
  /** Store time, epoch ms. */
  readonly timeMs: number
}

/**
 * Locks a collection's definition, ranges and segments against other changes, then reads them. Rejects with
 * ERR_NOT_FOUND.
 */
export async function lockCollection(
  { statements, clock, collections }: ReadContext,
  sql: Sql,
  record: CollectionName,
): Promise<LockedCollection> {
  const [row] = await sql.rows(statements.of(LOCK), [record.number, clock.atLeastMs()])
  if (row === undefined) throw new ResourceNotFoundError('collection', record.id)
  return { collection: await collections.readIn(sql, record), timeMs: numberColumn(row, 0) }
}

/** Makes every process read the collection again. */
export async function raiseVersion(
  { statements }: ReadContext,
  sql: Sql,
  collection: number,
): Promise<void> {
  await sql.rows(statements.of(RAISE_VERSION), [collection])
}
