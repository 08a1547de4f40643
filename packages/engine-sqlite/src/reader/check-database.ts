import { rangeContainsEpk } from '@tidemark/contracts'
import type { CatalogRows, CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'

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
  return problems
}

function checkCollection(
  connection: Connection,
  { record, ranges }: CollectionRow,
): readonly string[] {
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
  for (const range of ranges) problems.push(...checkFeed(connection, range, inFeed))
  const scanned = connection.all(
    'SELECT seq FROM doc INDEXED BY pri WHERE coll = ? AND kind = 0',
    record.number,
  )
  for (const row of scanned) {
    const seq = numberColumn(row, 0)
    if (!inFeed.delete(seq)) problems.push(`row ${seq} is in the index and in no feed`)
  }
  for (const seq of inFeed) problems.push(`row ${seq} is in the feed and not in the index`)
  return problems
}

/** Adds the row numbers of a range's live documents to `inFeed`. */
function checkFeed(
  connection: Connection,
  range: RangeRow,
  inFeed: Set<number>,
): readonly string[] {
  const problems: string[] = []
  let lastLsn = 0
  let lastTs = 0
  for (const segment of range.segments) {
    const counter = numberColumn(
      connection.get('SELECT lsn FROM segment WHERE id = ?', segment.id) ?? [],
      0,
    )
    const first = segment.id * SEGMENT_SLOTS
    const rows = connection.all(
      'SELECT seq, lsn, kind, epk, ts FROM doc WHERE seq >= ? AND seq < ? ORDER BY seq',
      first,
      first + SEGMENT_SLOTS,
    )
    for (const row of rows) {
      const seq = numberColumn(row, 0)
      const lsn = numberColumn(row, 1)
      const ts = numberColumn(row, 4)
      if (!rangeContainsEpk(range, textColumn(row, 3))) continue
      if (numberColumn(row, 2) === 0) inFeed.add(seq)
      if (lsn < lastLsn) problems.push(`row ${seq} has LSN ${lsn} after ${lastLsn}`)
      if (ts < lastTs) problems.push(`row ${seq} has _ts ${ts} after ${lastTs}`)
      if (seq - first > lsn - segment.base) problems.push(`row ${seq} stands above its LSN ${lsn}`)
      if (lsn > counter) problems.push(`row ${seq} has LSN ${lsn} above the counter ${counter}`)
      lastLsn = lsn
      lastTs = ts
    }
  }
  return problems
}
