import { rangeContainsEpk } from '@tidemark/contracts'
import { expirySecond } from '@tidemark/store/engine'
import type { CatalogRows, CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'
import { checkMessages } from '../messages/check-messages.ts'

/** Contradictions between documents, indexes, ranges and counters, as sentences. Reads everything. */
export function checkDatabase(connection: Connection, catalog: CatalogRows): readonly string[] {
  const problems = connection
    .all('PRAGMA integrity_check(20)')
    .map((row) => textColumn(row, 0))
    .filter((line) => line !== 'ok')
  for (const collection of catalog.collections.values()) {
    for (const problem of checkCollection(connection, collection)) {
      problems.push(`collection ${collection.record.id}: ${problem}`)
    }
  }
  problems.push(...checkDropped(connection), ...checkMessages(connection))
  return problems
}

function checkCollection(connection: Connection, collection: CollectionRow): readonly string[] {
  const { record, ranges } = collection
  const problems: string[] = []
  let covered = ''
  for (const range of ranges) {
    if (range.minInclusive !== covered) {
      problems.push(`range ${range.number} begins at "${range.minInclusive}", not at "${covered}"`)
    }
    covered = range.maxExclusive
  }
  if (covered !== 'FF') problems.push(`the ranges end at "${covered}", not at "FF"`)
  const inFeed = new Set<number>()
  for (const range of ranges) {
    problems.push(...checkRows(connection, range, { table: 'doc', inFeed }))
    problems.push(...checkRows(connection, range, { table: 'log', inFeed: new Set() }))
  }
  const scanned = connection.all(
    'SELECT seq FROM doc INDEXED BY pri WHERE coll = ? AND kind = 0',
    record.number,
  )
  for (const row of scanned) {
    const seq = numberColumn(row, 0)
    if (!inFeed.delete(seq)) problems.push(`row ${seq} is in the index and in no feed`)
  }
  for (const seq of inFeed) problems.push(`row ${seq} is in the feed and not in the index`)
  if (collection.reindex === undefined) problems.push(...checkExpiry(connection, collection))
  problems.push(...checkEntries(connection, collection))
  return problems
}

/** Adds the row numbers of a range's live documents to `inFeed`. */
function checkRows(
  connection: Connection,
  range: RangeRow,
  { table, inFeed }: { readonly table: 'doc' | 'log'; readonly inFeed: Set<number> },
): readonly string[] {
  const problems: string[] = []
  const columns = table === 'doc' ? 'kind, ts * 1000' : '1, at'
  for (const segment of range.segments) {
    const counter = numberColumn(
      connection.get('SELECT lsn FROM segment WHERE id = ?', segment.id) ?? [],
      0,
    )
    const first = segment.id * SEGMENT_SLOTS
    const rows = connection.all(
      `SELECT seq, lsn, epk, ${columns} FROM ${table} WHERE seq >= ? AND seq < ? ORDER BY seq`,
      first,
      first + SEGMENT_SLOTS,
    )
    let lastLsn = segment.base
    let lastMs = 0
    for (const row of rows) {
      const name = `${table} row ${numberColumn(row, 0)}`
      const slot = numberColumn(row, 0) - first
      const lsn = numberColumn(row, 1)
      const epk = textColumn(row, 2)
      const ms = numberColumn(row, 4)
      if (!rangeContainsEpk(segment, epk)) problems.push(`${name} is outside its segment's keys`)
      if (rangeContainsEpk(range, epk) && numberColumn(row, 3) === 0) inFeed.add(first + slot)
      if (lsn < lastLsn) problems.push(`${name} has LSN ${lsn} after ${lastLsn}`)
      if (lsn > counter) problems.push(`${name} has LSN ${lsn} above the counter ${counter}`)
      if (!segment.dense) {
        if (ms < lastMs) problems.push(`${name} has time ${ms} after ${lastMs}`)
        if (slot > lsn - segment.base) problems.push(`${name} stands above its LSN ${lsn}`)
      }
      lastLsn = lsn
      lastMs = ms
    }
  }
  return problems
}

/** The index of expiry, which must be exact while no documents are refiled. */
function checkExpiry(connection: Connection, { record }: CollectionRow): readonly string[] {
  const problems: string[] = []
  if (record.ttlEras.length > 0) problems.push('past values of defaultTtl, but no work on them')
  const rows = connection.all(
    'SELECT seq, ts, ttl, exp FROM doc INDEXED BY pri WHERE coll = ? AND kind = 0',
    record.number,
  )
  for (const row of rows) {
    const times = { ts: numberColumn(row, 1), ttl: numberColumn(row, 2) }
    const second = expirySecond(times, record.definition.defaultTtl)
    if (second === numberColumn(row, 3)) continue
    const filed = `filed under second ${numberColumn(row, 3)}, not ${second}`
    problems.push(`row ${numberColumn(row, 0)} is ${filed}`)
  }
  return problems
}

/** Only expired documents can have lost entries, to documents that were written since then. */
function checkEntries(
  connection: Connection,
  { record, reindex }: CollectionRow,
): readonly string[] {
  const { uniqueKeys = [] } = record.definition
  const unheld = connection.all(
    `SELECT e.id, e.ukey FROM entry e WHERE e.coll = ? AND NOT EXISTS (
       SELECT 1 FROM doc d WHERE d.coll = e.coll AND d.epk = e.epk AND d.pk = e.pk AND d.id = e.id
         AND d.kind = 0)`,
    record.number,
  )
  const wrong = connection.all(
    `SELECT d.id, count(e.ukey) FROM doc d INDEXED BY pri
     LEFT JOIN entry e ON e.coll = d.coll AND e.epk = d.epk AND e.pk = d.pk AND e.id = d.id
     WHERE d.coll = ? AND d.kind = 0 AND d.exp = 0 AND ? GROUP BY d.seq HAVING count(e.ukey) <> ?`,
    record.number,
    // Until it is exact again, the index of expiry does not show what has expired.
    reindex === undefined ? 1 : 0,
    uniqueKeys.length,
  )
  return [
    ...unheld.map(
      (row) => `entry ${numberColumn(row, 1)} of ${textColumn(row, 0)} has no document`,
    ),
    ...wrong.map(
      (row) =>
        `${textColumn(row, 0)} has ${numberColumn(row, 1)} entries of ${uniqueKeys.length} unique keys`,
    ),
  ]
}

/** A segment that no range has any more must not hold anything that is still needed. */
function checkDropped(connection: Connection): readonly string[] {
  const unknown = connection.all(
    `SELECT id FROM segment WHERE state <> 'dropped'
     AND NOT EXISTS (SELECT 1 FROM pkrange_segment p WHERE p.segment = segment.id)`,
  )
  const left = connection.all(
    `SELECT s.id FROM segment s JOIN collection c ON c.number = s.coll
     WHERE s.state = 'dropped' AND EXISTS (
       SELECT 1 FROM doc WHERE seq >= s.id * 4294967296 AND seq < (s.id + 1) * 4294967296)`,
  )
  const forgotten = connection.all(
    `SELECT DISTINCT e.coll FROM entry e
     WHERE NOT EXISTS (SELECT 1 FROM collection c WHERE c.number = e.coll)
       AND NOT EXISTS (SELECT 1 FROM segment s WHERE s.coll = e.coll)`,
  )
  return [
    ...forgotten.map((row) => `collection ${numberColumn(row, 0)} is gone, and has entries`),
    ...unknown.map((row) => `segment ${numberColumn(row, 0)} is in no range`),
    ...left.map((row) => `segment ${numberColumn(row, 0)} is dropped, and has documents`),
  ]
}
