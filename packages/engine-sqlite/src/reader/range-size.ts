import type { FeedRange } from '@tidemark/contracts'
import { numberColumn, textColumn, type Row } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Rows that one step looks at: between steps other readers have their turn. */
const ROWS_A_STEP = 5000

/** How far a walk over a range's live documents has come. */
export interface RangeWalk {
  readonly after: string
  readonly documents: number
  readonly bytes: number
  readonly isAtEnd: boolean
}

export const WALK_START: RangeWalk = { after: '', documents: 0, bytes: 0, isAtEnd: false }

/** What of a collection is walked over, as its snapshot has it now. */
export interface WalkedRange {
  readonly number: number
  readonly range: FeedRange
  readonly condition: string | undefined
  readonly nowSecond: number
}

/**
 * One step of counting live documents and their bytes, a whole number of EPKs. Each step is a snapshot of
 * its own: of a range that is written to meanwhile the sum is an estimate.
 */
export function walkRange(connection: Connection, walked: WalkedRange, walk: RangeWalk): RangeWalk {
  const step = stepOf(connection, walked, walk)
  const row = connection.get(
    `SELECT count(*), coalesce(sum(octet_length(body)), 0) FROM doc
     WHERE ${step.where} AND ${walked.condition ?? 'TRUE'}`,
    ...step.values,
  )
  return advanced(walk, step, row ?? [])
}

/**
 * As `walkRange`, without the bytes: of a collection in which nothing expires the index alone answers, a
 * fifth of the work.
 */
export function countRange(
  connection: Connection,
  walked: WalkedRange,
  walk: RangeWalk,
): RangeWalk {
  const step = stepOf(connection, walked, walk)
  const row = connection.get(
    `SELECT count(*), 0 FROM doc WHERE ${step.where} AND ${walked.condition ?? 'TRUE'}`,
    ...step.values,
  )
  return advanced(walk, step, row ?? [])
}

/** The EPK `skip` live documents after `after`, or of the first behind it when `skip` is 0. */
export function epkAfter(
  connection: Connection,
  walked: WalkedRange,
  { after, skip }: { readonly after: string; readonly skip: number },
): string | undefined {
  const { number, range, condition, nowSecond } = walked
  const row = connection.get(
    `SELECT epk FROM doc WHERE coll = ?2 AND kind = 0 AND ${lowerBound(after)} AND epk < ?4
     AND ${condition ?? 'TRUE'} ORDER BY epk LIMIT 1 OFFSET ?5`,
    nowSecond,
    number,
    after === '' ? range.minInclusive : after,
    range.maxExclusive,
    skip,
  )
  return row && textColumn(row, 0)
}

interface WalkStep {
  readonly where: string
  readonly values: readonly [number, number, string, string]
  /** The last EPK of the step; undefined at the end. */
  readonly upTo: string | undefined
}

function stepOf(
  connection: Connection,
  { number, range, nowSecond }: WalkedRange,
  { after }: RangeWalk,
): WalkStep {
  const from = after === '' ? range.minInclusive : after
  const last = connection.get(
    `SELECT epk FROM doc WHERE coll = ?1 AND kind = 0 AND ${lowerBound(after, '?2')} AND epk < ?3
     ORDER BY epk LIMIT 1 OFFSET ${ROWS_A_STEP}`,
    number,
    from,
    range.maxExclusive,
  )
  const upTo = last === undefined ? undefined : textColumn(last, 0)
  const upper = upTo === undefined ? 'epk < ?4' : 'epk <= ?4'
  return {
    where: `coll = ?2 AND kind = 0 AND ${lowerBound(after)} AND ${upper}`,
    values: [nowSecond, number, from, upTo ?? range.maxExclusive],
    upTo,
  }
}

/**
 * One bound, never two: of two SQLite seeks by either and looks at every row from the range's beginning,
 * so that all steps together would cost the square of the range.
 */
function lowerBound(after: string, value = '?3'): string {
  return after === '' ? `epk >= ${value}` : `epk > ${value}`
}

function advanced(walk: RangeWalk, { upTo }: WalkStep, row: Row): RangeWalk {
  return {
    after: upTo ?? walk.after,
    documents: walk.documents + numberColumn(row, 0),
    bytes: walk.bytes + numberColumn(row, 1),
    isAtEnd: upTo === undefined,
  }
}
