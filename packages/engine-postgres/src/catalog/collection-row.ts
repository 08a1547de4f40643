import type { FeedRange } from '@tidemark/contracts'
import type {
  CollectionDefinition,
  CollectionRecord,
  RangeRecord,
  TtlEra,
} from '@tidemark/store/engine'
import type { SqlRow } from '../connection/sql.ts'
import { booleanColumn, numberColumn, textColumn } from '../connection/columns.ts'

/** A run of the feed in the table `doc`, and of the log. LSNs lie in (base, lsn]. */
export interface SegmentRow extends FeedRange {
  readonly id: number
  readonly base: number
  /** Newest LSN at the time of the read. Only that of the open segment rises without a new version. */
  readonly lsn: number
  readonly state: 'open' | 'sealed' | 'folding'
  /** True: its rows were moved here, and may not be in time order. */
  readonly folded: boolean
}

export interface RangeRow extends RangeRecord {
  /** By base; the open one is last. */
  readonly segments: readonly SegmentRow[]
}

/** A collection in one snapshot. */
export interface CollectionRow {
  readonly record: CollectionRecord
  readonly version: number
  /** How far documents were refiled after a change of `defaultTtl`: JSON. Undefined when the index is exact. */
  readonly reindex: string | undefined
  /** False: the log has no entries of this collection. */
  readonly logged: boolean
  /** In EPK order. */
  readonly ranges: readonly RangeRow[]
}

/** One row for each collection, in one snapshot. Append the condition. */
export const READ_COLLECTION = `
SELECT c.number, c.id, c.rid, c.definition, c.eras, c.etag, c.ts, c.reindex, c.logged, c.version,
  (SELECT json_agg(json_build_array(p.number, p.min, p.max, p.parents, p.segment, p.ts) ORDER BY p.min)
    FROM :schema.pkrange p WHERE p.coll = c.number),
  (SELECT json_agg(json_build_array(m.pkrange, s.id, s.base, s.lsn, s.state, s.folded, s.min, s.max)
      ORDER BY m.pkrange, s.state = 'open', s.base, s.id)
    FROM :schema.pkrange_segment m JOIN :schema.segment s ON s.id = m.segment WHERE m.coll = c.number)
FROM :schema.collection c`

type RangeEntry = readonly [
  number: number,
  min: string,
  max: string,
  parents: string,
  segment: number,
  ts: number,
]
type SegmentEntry = readonly [
  range: number,
  id: number,
  base: number,
  lsn: number,
  state: string,
  folded: boolean,
  min: string,
  max: string,
]

/** From a row of READ_COLLECTION. */
export function collectionRow(row: SqlRow): CollectionRow {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by READ_COLLECTION
  const ranges = JSON.parse(row[10] ?? '[]') as readonly RangeEntry[]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by READ_COLLECTION
  const segments = JSON.parse(row[11] ?? '[]') as readonly SegmentEntry[]
  const segmentsOf = new Map<number, SegmentRow[]>()
  for (const entry of segments) {
    const list = segmentsOf.get(entry[0])
    if (list === undefined) segmentsOf.set(entry[0], [segmentRow(entry)])
    else list.push(segmentRow(entry))
  }
  return {
    record: collectionRecord(row),
    reindex: row[7] ?? undefined,
    logged: booleanColumn(row, 8),
    version: numberColumn(row, 9),
    ranges: ranges.map(([number, minInclusive, maxExclusive, parents, segment, ts]) => ({
      number,
      minInclusive,
      maxExclusive,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written with the range
      parents: JSON.parse(parents) as number[],
      segment,
      ts,
      segments: segmentsOf.get(number) ?? [],
    })),
  }
}

/** From a row that begins with a record, as in READ_COLLECTION. */
export function collectionRecord(row: SqlRow): CollectionRecord {
  return {
    number: numberColumn(row, 0),
    id: textColumn(row, 1),
    rid: textColumn(row, 2),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written with the record
    definition: JSON.parse(textColumn(row, 3)) as CollectionDefinition,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    ttlEras: JSON.parse(textColumn(row, 4)) as TtlEra[],
    etag: textColumn(row, 5),
    ts: numberColumn(row, 6),
  }
}

function segmentRow([, id, base, lsn, state, folded, min, max]: SegmentEntry): SegmentRow {
  return {
    id,
    base,
    lsn,
    state: state === 'open' || state === 'folding' ? state : 'sealed',
    folded,
    minInclusive: min,
    maxExclusive: max,
  }
}
