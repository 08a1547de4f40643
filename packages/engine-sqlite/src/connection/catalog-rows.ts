import type { CollectionDefinition, CollectionRecord, RangeRecord } from '@tidemark/store'
import { numberColumn, textColumn, type Row } from './column.ts'
import type { Connection } from './connection.ts'

/** A run of the feed in the table `doc`: slot = LSN - base. */
export interface SegmentRow {
  readonly id: number
  readonly base: number
  /** Newest LSN when this was read; only the open segment's still rises. */
  readonly lsn: number
}

export interface RangeRow extends RangeRecord {
  /** Oldest first; the last one is open. */
  readonly segments: readonly SegmentRow[]
}

export interface CollectionRow {
  readonly record: CollectionRecord
  /** In EPK order. */
  readonly ranges: readonly RangeRow[]
}

/** The catalog of one database at one version. */
export interface CatalogRows {
  readonly version: number
  /** True when the whole database was deleted. */
  readonly dropped: boolean
  readonly collections: ReadonlyMap<number, CollectionRow>
}

export const READ_CATALOG_VERSION = `SELECT value FROM meta WHERE name = 'catalog'`

/** Tells every connection to read the catalog again. */
export function raiseCatalogVersion(connection: Connection): void {
  connection.run(`UPDATE meta SET value = value + 1 WHERE name = 'catalog'`)
}

export function readCatalog(connection: Connection): CatalogRows {
  const version = numberColumn(connection.get(READ_CATALOG_VERSION) ?? [], 0)
  const dropped =
    numberColumn(connection.get(`SELECT value FROM meta WHERE name = 'dropped'`) ?? [], 0) === 1
  const collections = new Map<number, CollectionRow>()
  for (const row of connection.all(
    'SELECT number, id, rid, definition, etag, ts FROM collection ORDER BY number',
  )) {
    const record = collectionRecord(row)
    collections.set(record.number, { record, ranges: readRanges(connection, record.number) })
  }
  return { version, dropped, collections }
}

function readRanges(connection: Connection, coll: number): readonly RangeRow[] {
  const segments = new Map<number, SegmentRow[]>()
  for (const row of connection.all(
    `SELECT p.pkrange, s.id, s.base, s.lsn FROM pkrange_segment p JOIN segment s ON s.id = p.segment
     WHERE p.coll = ? ORDER BY p.pkrange, p.position`,
    coll,
  )) {
    const range = numberColumn(row, 0)
    const segment = {
      id: numberColumn(row, 1),
      base: numberColumn(row, 2),
      lsn: numberColumn(row, 3),
    }
    const list = segments.get(range)
    if (list === undefined) segments.set(range, [segment])
    else list.push(segment)
  }
  return connection
    .all(
      'SELECT number, min, max, parents, segment, ts FROM pkrange WHERE coll = ? ORDER BY min',
      coll,
    )
    .map((row) => ({
      number: numberColumn(row, 0),
      minInclusive: textColumn(row, 1),
      maxExclusive: textColumn(row, 2),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written by insertRange
      parents: JSON.parse(textColumn(row, 3)) as number[],
      segment: numberColumn(row, 4),
      ts: numberColumn(row, 5),
      segments: segments.get(numberColumn(row, 0)) ?? [],
    }))
}

function collectionRecord(row: Row): CollectionRecord {
  return {
    number: numberColumn(row, 0),
    id: textColumn(row, 1),
    rid: textColumn(row, 2),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written when the collection was created
    definition: JSON.parse(textColumn(row, 3)) as CollectionDefinition,
    etag: textColumn(row, 4),
    ts: numberColumn(row, 5),
  }
}
