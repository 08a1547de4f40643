import {
  InvalidOptionError,
  rangeContainsEpk,
  rangesOverlap,
  type FeedRange,
} from '@tidemark/contracts'
import {
  cutHorizons,
  rangeNumbered,
  type CollectionRecord,
  type RangeRecord,
} from '@tidemark/store/engine'
import type { CollectionRow, RangeRow } from '../catalog/collection-row.ts'
import type { Sql } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { lockCollection, raiseVersion } from './lock-collection.ts'
import {
  insertRange,
  insertSegment,
  lockSegments,
  type RowWriter,
  type SegmentState,
} from './range-rows.ts'

/*
 * Changes of pkranges. Only metadata changes: rows stay in their segments, which the new ranges inherit (ST-9).
 * Each locks the collection, then the open segments, which waits for the running commits.
 */

const SET_STATE = 'UPDATE :schema.segment SET state = $2 WHERE id = $1'
const DELETE_RANGE = 'DELETE FROM :schema.pkrange WHERE coll = $1 AND number = $2'
const DELETE_SEGMENTS_OF_RANGE =
  'DELETE FROM :schema.pkrange_segment WHERE coll = $1 AND pkrange = $2'
const SET_SEGMENT = 'UPDATE :schema.pkrange SET segment = $3 WHERE coll = $1 AND number = $2'
const ADD_SEGMENT =
  'INSERT INTO :schema.pkrange_segment(coll, pkrange, segment) VALUES ($1, $2, $3)'

/** Splits a range in two; see `DatabaseEngine.splitRange`. */
export async function splitRange(
  context: ReadContext,
  request: { readonly collection: CollectionRecord; readonly range: number; readonly at: string },
): Promise<readonly [RangeRecord, RangeRecord]> {
  const { collection: record, range: number, at } = request
  return changeRanges(context, record, async (writer, { collection, ts }) => {
    const parent = rangeNumbered(collection.ranges, number)
    const { minInclusive, maxExclusive } = parent
    if (at <= minInclusive || !rangeContainsEpk(parent, at)) {
      const interval = `"${minInclusive}" to "${maxExclusive}"`
      throw new InvalidOptionError(`at must be inside the range ${interval}, got "${at}"`)
    }
    const states = await lockSegments(writer, [parent.segment])
    const { state, segments } = await sealRange(writer, { collection, range: parent, states })
    const parents = [...parent.parents, parent.number]
    const next = nextRangeNumber(collection.ranges)
    const child = (offset: number, range: FeedRange): Promise<RangeRecord> =>
      insertRange(
        writer,
        { ...range, collection: record.number, number: next + offset, parents, ts },
        {
          inherited: segments.filter((each) => rangesOverlap(each, range)).map(({ id }) => id),
          state: {
            ...state,
            horizons: cutHorizons(state.horizons, range),
            logHorizons: cutHorizons(state.logHorizons, range),
          },
        },
      )
    const left = await child(0, { minInclusive, maxExclusive: at })
    return [left, await child(1, { minInclusive: at, maxExclusive })] as const
  })
}

/** Merges two neighbours into one range; see `DatabaseEngine.mergeRanges`. */
export async function mergeRanges(
  context: ReadContext,
  request: {
    readonly collection: CollectionRecord
    readonly ranges: readonly [number, number]
  },
): Promise<RangeRecord> {
  const {
    collection: record,
    ranges: [first, second],
  } = request
  return changeRanges(context, record, async (writer, { collection, ts }) => {
    const left = rangeNumbered(collection.ranges, first)
    const right = rangeNumbered(collection.ranges, second)
    if (left.maxExclusive !== right.minInclusive) {
      throw new InvalidOptionError(`range ${second} does not begin where range ${first} ends`)
    }
    const states = await lockSegments(writer, [left.segment, right.segment])
    const a = await sealRange(writer, { collection, range: left, states })
    const b = await sealRange(writer, { collection, range: right, states })
    const lineage = [...left.parents, left.number, ...right.parents, right.number]
    // Both halves of a split range have its earlier segments.
    const inherited = new Set([...a.segments, ...b.segments].map(({ id }) => id))
    return insertRange(
      writer,
      {
        collection: record.number,
        number: nextRangeNumber(collection.ranges),
        minInclusive: left.minInclusive,
        maxExclusive: right.maxExclusive,
        parents: [...new Set(lineage)].toSorted((x, y) => x - y),
        ts,
      },
      {
        inherited: [...inherited],
        state: {
          lsn: Math.max(a.state.lsn, b.state.lsn),
          epoch: Math.max(a.state.epoch, b.state.epoch),
          // The older one, so that a fail-over that one of them has not handled is not forgotten.
          timeline: Math.min(a.state.timeline, b.state.timeline),
          clockMs: Math.max(a.state.clockMs, b.state.clockMs),
          horizons: [...a.state.horizons, ...b.state.horizons],
          logHorizons: [...a.state.logHorizons, ...b.state.logHorizons],
        },
      },
    )
  })
}

/** Gives a range a new segment if its own has reached its limit of LSNs; otherwise does nothing. */
export async function rollSegment(
  context: ReadContext,
  request: {
    readonly collection: CollectionRecord
    readonly range: number
    readonly segmentSlots: number
  },
): Promise<void> {
  const { collection: record, range: number, segmentSlots } = request
  await changeRanges(context, record, async (writer, { collection }) => {
    const range = collection.ranges.find((each) => each.number === number)
    if (range === undefined) return
    const states = await lockSegments(writer, [range.segment])
    const state = states.get(range.segment)
    if (state === undefined || state.lsn - state.base < segmentSlots) return
    const next = await insertSegment(writer, { collection: record.number, range, state })
    const { sql, statements } = writer
    await sql.rows(statements.of(SET_STATE), [range.segment, 'sealed'])
    await sql.rows(statements.of(SET_SEGMENT), [record.number, number, next])
    await sql.rows(statements.of(ADD_SEGMENT), [record.number, number, next])
  })
}

async function changeRanges<Result>(
  context: ReadContext,
  record: CollectionRecord,
  change: (
    writer: RowWriter,
    locked: { readonly collection: CollectionRow; readonly ts: number },
  ) => Promise<Result>,
): Promise<Result> {
  const result = await context.connections.transaction(async (sql: Sql) => {
    const { collection, timeMs } = await lockCollection(context, sql, record)
    const writer = { sql, statements: context.statements }
    const changed = await change(writer, { collection, ts: Math.floor(timeMs / 1000) })
    await raiseVersion(context, sql, record.number)
    return changed
  })
  await context.collections.refresh(record)
  return result
}

/** Removes a range from the catalog, and returns what its successors inherit. */
async function sealRange(
  { sql, statements }: RowWriter,
  {
    collection: { record },
    range,
    states,
  }: {
    readonly collection: CollectionRow
    readonly range: RangeRow
    readonly states: ReadonlyMap<number, SegmentState & { readonly base: number }>
  },
): Promise<{ readonly state: SegmentState; readonly segments: RangeRow['segments'] }> {
  const state = states.get(range.segment)
  if (state === undefined) throw new InvalidOptionError(`range ${range.number} has no segment`)
  const isEmpty = state.lsn === state.base
  // A segment that never had a row is not needed: a range that is split and merged often would collect them.
  const sealed = isEmpty ? 'dropped' : 'sealed'
  await sql.rows(statements.of(SET_STATE), [range.segment, sealed])
  await sql.rows(statements.of(DELETE_RANGE), [record.number, range.number])
  await sql.rows(statements.of(DELETE_SEGMENTS_OF_RANGE), [record.number, range.number])
  for (const { id, state: before } of range.segments) {
    // Two ranges may have it now, and then neither may continue to fill it.
    if (before === 'folding') await sql.rows(statements.of(SET_STATE), [id, 'sealed'])
  }
  const segments = isEmpty
    ? range.segments.filter(({ id }) => id !== range.segment)
    : range.segments
  return { state, segments }
}

/** The highest number ever assigned is always present, so none is used twice. */
function nextRangeNumber(ranges: readonly RangeRow[]): number {
  return Math.max(...ranges.map(({ number }) => number)) + 1
}
