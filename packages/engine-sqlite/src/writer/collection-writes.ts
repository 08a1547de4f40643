import type { FeedRange } from '@tidemark/contracts'
import {
  changedRecord,
  collectionRid,
  horizonsText,
  parseHorizons,
  raiseHorizon,
  recordEtag,
  type CollectionDefinition,
  type CollectionRecord,
  type DefinitionChanges,
} from '@tidemark/store/engine'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { nextPurgeStamp, raiseCatalogVersion } from '../connection/head.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'
import { insertRange, insertSegment, takeNumber } from './range-writes.ts'

/** Changes of collections, each inside the writer's transaction. All raise the catalog's version. */

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
    ttlEras: [],
    etag: recordEtag(rid, ts),
    ts,
  }
  connection.run(
    `INSERT INTO collection VALUES (?, ?, ?, ?, '[]', NULL, ?, ?, ?)`,
    number,
    record.id,
    rid,
    JSON.stringify(record.definition),
    record.definition.allVersions === null ? 0 : 1,
    record.etag,
    ts,
  )
  for (const [index, { minInclusive, maxExclusive }] of request.ranges.entries()) {
    const range = { minInclusive, maxExclusive }
    const segment = insertSegment(connection, { collection: number, range, base: 0, epoch: 0 })
    const pkRange = { collection: number, number: index, range, parents: [], ts }
    insertRange(connection, pkRange, [segment])
  }
  raiseCatalogVersion(connection)
  return record
}

/**
 * Changes a definition.
 *
 * @throws ERR_INVALID_OPTION, as `changedRecord` says
 */
export function changeCollection(
  connection: Connection,
  collection: CollectionRow,
  { changes, nowMs }: { readonly changes: DefinitionChanges; readonly nowMs: number },
): CollectionRecord {
  const { record: before, ranges } = collection
  const record = changedRecord(before, changes, nowMs)
  const { definition } = record
  const isReindexed = record.ttlEras.length !== before.ttlEras.length
  const beginsLog = definition.allVersions !== null && before.definition.allVersions === null
  connection.run(
    'UPDATE collection SET definition = ?, eras = ?, reindex = ?, logged = ?, etag = ?, ts = ? WHERE number = ?',
    JSON.stringify(definition),
    JSON.stringify(record.ttlEras),
    isReindexed ? '{}' : (collection.reindex ?? null),
    beginsLog || collection.logged ? 1 : 0,
    record.etag,
    record.ts,
    record.number,
  )
  // Versions from before the log was switched on, or while it was off, are not in it.
  if (beginsLog) {
    const stamp = nextPurgeStamp(connection, nowMs)
    for (const range of ranges) raiseLogHorizon(connection, range, stamp)
  }
  raiseCatalogVersion(connection)
  return record
}

function raiseLogHorizon(
  connection: Connection,
  { minInclusive, maxExclusive, segment }: FeedRange & { readonly segment: number },
  stamp: number,
): void {
  const row = connection.get('SELECT lsn, loghorizon FROM segment WHERE id = ?', segment) ?? []
  const range = { minInclusive, maxExclusive }
  const horizons = parseHorizons(textColumn(row, 1))
  connection.run(
    'UPDATE segment SET loghorizon = ? WHERE id = ?',
    horizonsText(raiseHorizon(horizons, { range, lsn: numberColumn(row, 0), stamp })),
    segment,
  )
}

/** Removes a collection from the catalog; its rows follow later, in pieces (`purgeDropped`). */
export function removeCollection(connection: Connection, number: number): void {
  connection.run('DELETE FROM collection WHERE number = ?', number)
  connection.run('DELETE FROM pkrange WHERE coll = ?', number)
  connection.run('DELETE FROM pkrange_segment WHERE coll = ?', number)
  connection.run('DELETE FROM position WHERE coll = ?', number)
  connection.run(`UPDATE segment SET state = 'dropped' WHERE coll = ?`, number)
  raiseCatalogVersion(connection)
}

/** Maximum number of rows that one call of `purgeDropped` deletes: a few milliseconds of work. */
const PURGED_ROWS = 2000

const PURGE_ENTRIES = `DELETE FROM entry WHERE (coll, epk, pk, id, ukey) IN (
  SELECT e.coll, e.epk, e.pk, e.id, e.ukey FROM segment s JOIN entry e ON e.coll = s.coll
  WHERE s.id = ? AND NOT EXISTS (SELECT 1 FROM collection c WHERE c.number = s.coll)
  LIMIT ${PURGED_ROWS})`

/** Deletes some rows of segments that no range has any more. False when nothing is left to do. */
export function purgeDropped(connection: Connection): boolean {
  const row = connection.get(`SELECT id FROM segment WHERE state = 'dropped' LIMIT 1`)
  if (row === undefined) return false
  const segment = numberColumn(row, 0)
  let deleted = 0
  for (const table of ['doc', 'log']) {
    deleted += connection.run(
      `DELETE FROM ${table} WHERE seq IN (
         SELECT seq FROM ${table} WHERE seq >= ? AND seq < ?
         LIMIT ${PURGED_ROWS})`,
      segment * SEGMENT_SLOTS,
      (segment + 1) * SEGMENT_SLOTS,
    )
  }
  // Entries of unique keys are in no segment: they are deleted with the last rows of the first of these segments.
  if (deleted === 0) deleted = connection.run(PURGE_ENTRIES, segment)
  if (deleted === 0) connection.run('DELETE FROM segment WHERE id = ?', segment)
  return true
}
