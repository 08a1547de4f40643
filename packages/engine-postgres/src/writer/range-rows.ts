import type { FeedRange } from '@tidemark/contracts'
import {
  horizonsText,
  parseHorizons,
  type Horizons,
  type RangeRecord,
} from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { Sql } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'
import { nextNumber } from '../schema/next-number.ts'

/** The state of a segment, or its start: above everything that its range has so far. */
export interface SegmentState {
  readonly lsn: number
  readonly epoch: number
  readonly timeline: number
  /** Store time of the newest commit, epoch ms. */
  readonly clockMs: number
  readonly horizons: Horizons
  readonly logHorizons: Horizons
}

const LOCK_SEGMENTS = `SELECT id, base, lsn, epoch, timeline, clock, horizon, log_horizon
FROM :schema.segment WHERE id = ANY($1::integer[]) ORDER BY id FOR UPDATE`
const INSERT_SEGMENT = `INSERT INTO :schema.segment(
  id, coll, min, max, base, lsn, epoch, timeline, clock, state, folded, horizon, log_horizon)
VALUES (${nextNumber('segment_number')}, $1, $2, $3, $4, $4, $5, $6, $7, 'open', false, $8, $9)
RETURNING id`
const INSERT_RANGE =
  'INSERT INTO :schema.pkrange(coll, number, min, max, parents, segment, ts) VALUES ($1, $2, $3, $4, $5, $6, $7)'
const INSERT_SEGMENTS_OF_RANGE = `INSERT INTO :schema.pkrange_segment(coll, pkrange, segment)
SELECT $1, $2, unnest($3::integer[])`
const TIMELINE = 'SELECT :schema.present_timeline()'

/** Locks open segments, so that no commit is running in them, and returns their state. By id. */
export async function lockSegments(
  { sql, statements }: RowWriter,
  ids: readonly number[],
): Promise<ReadonlyMap<number, SegmentState & { readonly base: number }>> {
  const rows = await sql.rows(statements.of(LOCK_SEGMENTS), [`{${ids.join(',')}}`])
  return new Map(
    rows.map((row) => [
      numberColumn(row, 0),
      {
        base: numberColumn(row, 1),
        lsn: numberColumn(row, 2),
        epoch: numberColumn(row, 3),
        timeline: numberColumn(row, 4),
        clockMs: numberColumn(row, 5),
        horizons: parseHorizons(textColumn(row, 6)),
        logHorizons: parseHorizons(textColumn(row, 7)),
      },
    ]),
  )
}

/** For a collection that has no commits yet. */
export async function newSegmentState({ sql, statements }: RowWriter): Promise<SegmentState> {
  const [row = []] = await sql.rows(statements.of(TIMELINE))
  const timeline = numberColumn(row, 0)
  return { lsn: 0, epoch: 0, timeline, clockMs: 0, horizons: [], logHorizons: [] }
}

/** The context for writing rows of ranges and segments, inside a transaction. */
export interface RowWriter {
  readonly sql: Sql
  readonly statements: Statements
}

/** Creates an open segment and returns its id. */
export async function insertSegment(
  { sql, statements }: RowWriter,
  { collection, range, state }: { collection: number; range: FeedRange; state: SegmentState },
): Promise<number> {
  const [row = []] = await sql.rows(statements.of(INSERT_SEGMENT), [
    collection,
    range.minInclusive,
    range.maxExclusive,
    state.lsn,
    state.epoch,
    state.timeline,
    state.clockMs,
    horizonsText(state.horizons),
    horizonsText(state.logHorizons),
  ])
  return numberColumn(row, 0)
}

/** Stores a range. `inherited` are its segments besides its own open one. */
export async function insertRange(
  writer: RowWriter,
  range: Omit<RangeRecord, 'segment'> & { readonly collection: number },
  { inherited, state }: { readonly inherited: readonly number[]; readonly state: SegmentState },
): Promise<RangeRecord> {
  const { sql, statements } = writer
  const { collection, number, minInclusive, maxExclusive, parents, ts } = range
  const segment = await insertSegment(writer, { collection, range, state })
  await sql.rows(statements.of(INSERT_RANGE), [
    collection,
    number,
    minInclusive,
    maxExclusive,
    JSON.stringify(parents),
    segment,
    ts,
  ])
  await sql.rows(statements.of(INSERT_SEGMENTS_OF_RANGE), [
    collection,
    number,
    `{${[...inherited, segment].join(',')}}`,
  ])
  return { number, minInclusive, maxExclusive, parents, segment, ts }
}
