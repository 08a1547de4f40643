import type { FeedRange } from '@tidemark/contracts'
import {
  collectionRid,
  recordEtag,
  type CollectionDefinition,
  type CollectionRecord,
} from '@tidemark/store'
import { raiseCatalogVersion } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Changes of the catalog, each inside the writer's transaction. All raise the catalog's version. */

export function insertCollection(
  connection: Connection,
  request: {
    readonly collectionId: string
    readonly databaseRid: string
    readonly definition: CollectionDefinition
    readonly ranges: readonly FeedRange[]
  },
  ts: number,
): CollectionRecord {
  const number = takeNumber(connection, 'nextCollection')
  const rid = collectionRid(request.databaseRid, number)
  const record: CollectionRecord = {
    id: request.collectionId,
    number,
    rid,
    definition: request.definition,
    etag: recordEtag(rid, ts),
    ts,
  }
  connection.run(
    'INSERT INTO collection VALUES (?, ?, ?, ?, ?, ?)',
    number,
    record.id,
    rid,
    JSON.stringify(record.definition),
    record.etag,
    ts,
  )
  for (const [index, range] of request.ranges.entries()) {
    const segment = insertSegment(connection, { collection: number, base: 0, epoch: 0, clockMs: 0 })
    connection.run(
      'INSERT INTO pkrange VALUES (?, ?, ?, ?, ?, ?, ?)',
      number,
      index,
      range.minInclusive,
      range.maxExclusive,
      '[]',
      segment,
      ts,
    )
    connection.run('INSERT INTO pkrange_segment VALUES (?, ?, ?, ?)', number, index, 0, segment)
  }
  raiseCatalogVersion(connection)
  return record
}

/** Takes a collection out of the catalog; its rows go later, in pieces (`purgeDropped`). */
export function removeCollection(connection: Connection, number: number): void {
  connection.run('DELETE FROM collection WHERE number = ?', number)
  connection.run('DELETE FROM pkrange WHERE coll = ?', number)
  connection.run('DELETE FROM pkrange_segment WHERE coll = ?', number)
  connection.run(`UPDATE segment SET state = 'dropped' WHERE coll = ?`, number)
  raiseCatalogVersion(connection)
}

/** Seals a range's segment and gives it a new one that goes on above it, long before its slots run out. */
export function rollSegment(
  connection: Connection,
  {
    collection,
    range,
    segment,
  }: { readonly collection: number; readonly range: number; readonly segment: number },
): void {
  const row = connection.get('SELECT lsn, epoch, clock FROM segment WHERE id = ?', segment) ?? []
  const next = insertSegment(connection, {
    collection,
    base: numberColumn(row, 0),
    epoch: numberColumn(row, 1),
    clockMs: numberColumn(row, 2),
  })
  connection.run(`UPDATE segment SET state = 'sealed' WHERE id = ?`, segment)
  connection.run(
    'UPDATE pkrange SET segment = ? WHERE coll = ? AND number = ?',
    next,
    collection,
    range,
  )
  connection.run(
    `INSERT INTO pkrange_segment SELECT ?, ?, max(position) + 1, ? FROM pkrange_segment
     WHERE coll = ? AND pkrange = ?`,
    collection,
    range,
    next,
    collection,
    range,
  )
  raiseCatalogVersion(connection)
}

/** Rows that one call of `purgeDropped` deletes at most: a few milliseconds of work. */
const PURGED_ROWS = 2000

/** Deletes some rows of collections that were removed. False when nothing is left to do. */
export function purgeDropped(connection: Connection): boolean {
  const row = connection.get(`SELECT id FROM segment WHERE state = 'dropped' LIMIT 1`)
  if (row === undefined) return false
  const segment = numberColumn(row, 0)
  const deleted = connection.run(
    `DELETE FROM doc WHERE seq IN (
       SELECT seq FROM doc WHERE seq >= ? * 4294967296 AND seq < (? + 1) * 4294967296 LIMIT ${PURGED_ROWS})`,
    segment,
    segment,
  )
  if (deleted === 0) connection.run('DELETE FROM segment WHERE id = ?', segment)
  return true
}

function insertSegment(
  connection: Connection,
  segment: {
    readonly collection: number
    readonly base: number
    readonly epoch: number
    readonly clockMs: number
  },
): number {
  const id = takeNumber(connection, 'nextSegment')
  connection.run(
    `INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, 'open', 0)`,
    id,
    segment.collection,
    segment.base,
    segment.base,
    segment.epoch,
    segment.clockMs,
  )
  return id
}

function takeNumber(connection: Connection, name: 'nextCollection' | 'nextSegment'): number {
  const number = numberColumn(
    connection.get('SELECT value FROM meta WHERE name = ?', name) ?? [],
    0,
  )
  connection.run('UPDATE meta SET value = ? WHERE name = ?', number + 1, name)
  return number
}
