import type {
  CollectionDefinition,
  CollectionRecord,
  RangeRecord,
  TtlEra,
} from '@tidemark/store/engine'
import type { FeedRange } from '@tidemark/contracts'
import { numberColumn, textColumn, type Row } from './column.ts'
import type { Connection } from './connection.ts'
import { readHead } from './head.ts'

/** A run of the feed in the table `doc`, and of the log. LSNs lie in (base, lsn]. */
export interface SegmentRow extends FeedRange {
  readonly id: number
  readonly base: number
  /** Newest LSN at the time of the read. Only that of the open segment rises without a new catalog version. */
  readonly lsn: number
  /** False: slot = LSN - base. True: rows in LSN order, in slots of their own. */
  readonly dense: boolean
  readonly state: 'open' | 'sealed' | 'folding'
}

export interface RangeRow extends RangeRecord {
  /** By base; the open one is last. */
  readonly segments: readonly SegmentRow[]
}

export interface CollectionRow {
  readonly record: CollectionRecord
  /** How far documents were refiled after a change of `defaultTtl`: JSON. Undefined when the index is exact. */
  readonly reindex: string | undefined
  /** False: the log has no entries of this collection. */
  readonly logged: boolean
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

export function readCatalog(connection: Connection): CatalogRows {
  const { catalogVersion: version } = readHead(connection)
  const dropped = isDropped(connection)
  const collections = new Map<number, CollectionRow>()
  for (const row of connection.all(
    `SELECT number, id, rid, definition, eras, etag, ts, reindex, logged FROM collection
     ORDER BY number`,
  )) {
    const record = collectionRecord(row)
    const reindex = row[7] === null ? undefined : textColumn(row, 7)
    const logged = numberColumn(row, 8) === 1
    const ranges = readRanges(connection, record.number)
    collections.set(record.number, { record, reindex, logged, ranges })
  }
  return { version, dropped, collections }
}

export function isDropped(connection: Connection): boolean {
  return (
    numberColumn(connection.get(`SELECT value FROM meta WHERE name = 'dropped'`) ?? [], 0) === 1
  )
}

function readRanges(connection: Connection, coll: number): readonly RangeRow[] {
  const segments = new Map<number, SegmentRow[]>()
  for (const row of connection.all(
    `SELECT p.pkrange, s.id, s.base, s.lsn, s.dense, s.state, s.min, s.max
     FROM pkrange_segment p JOIN segment s ON s.id = p.segment
     WHERE p.coll = ? ORDER BY p.pkrange, s.state = 'open', s.base, s.id`,
    coll,
  )) {
    const range = numberColumn(row, 0)
    const list = segments.get(range)
    if (list === undefined) segments.set(range, [segmentRow(row)])
    else list.push(segmentRow(row))
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

function segmentRow(row: Row): SegmentRow {
  const state = textColumn(row, 5)
  return {
    id: numberColumn(row, 1),
    base: numberColumn(row, 2),
    lsn: numberColumn(row, 3),
    dense: numberColumn(row, 4) === 1,
    state: state === 'open' || state === 'folding' ? state : 'sealed',
    minInclusive: textColumn(row, 6),
    maxExclusive: textColumn(row, 7),
  }
}

function collectionRecord(row: Row): CollectionRecord {
  return {
    number: numberColumn(row, 0),
    id: textColumn(row, 1),
    rid: textColumn(row, 2),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written by storeCollection
    definition: JSON.parse(textColumn(row, 3)) as CollectionDefinition,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    ttlEras: JSON.parse(textColumn(row, 4)) as TtlEra[],
    etag: textColumn(row, 5),
    ts: numberColumn(row, 6),
  }
}
