import type { SQLInputValue } from 'node:sqlite'
import type { FeedRange } from '@tidemark/contracts'
import { numberColumn, textColumn, type Row } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Condition } from '../connection/live-rows.ts'

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
  readonly condition: Condition | undefined
}

/**
 * One step of counting live documents and their bytes, a whole number of EPKs. Each step is a snapshot of
 * its own: of a range that is written to meanwhile the sum is an estimate.
 */
export function walkRange(connection: Connection, walked: WalkedRange, walk: RangeWalk): RangeWalk {
  const step = stepOf(connection, walked, walk)
  const row = connection.get(
    `SELECT count(*), coalesce(sum(octet_length(body)), 0) FROM doc
     WHERE ${step.where}`,
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
  const row = connection.get(`SELECT count(*), 0 FROM doc WHERE ${step.where}`, ...step.values)
  return advanced(walk, step, row ?? [])
}

/** The EPK `skip` live documents after `after`, or of the first behind it when `skip` is 0. */
export function epkAfter(
  connection: Connection,
  walked: WalkedRange,
  { after, skip }: { readonly after: string; readonly skip: number },
): string | undefined {
  const { number, range, condition } = walked
  const row = connection.get(
    `SELECT epk FROM doc WHERE coll = ? AND kind = 0 AND ${lowerBound(after)} AND epk < ?
     AND ${condition?.sql ?? 'TRUE'} ORDER BY epk LIMIT 1 OFFSET ?`,
    number,
    after === '' ? range.minInclusive : after,
    range.maxExclusive,
    ...(condition?.values ?? []),
    skip,
  )
  return row && textColumn(row, 0)
}

interface WalkStep {
  readonly where: string
  readonly values: readonly SQLInputValue[]
  /** The last EPK of the step; undefined at the end. */
  readonly upTo: string | undefined
}

function stepOf(
  connection: Connection,
  { number, range, condition }: WalkedRange,
  { after }: RangeWalk,
): WalkStep {
  const from = after === '' ? range.minInclusive : after
  const last = connection.get(
    `SELECT epk FROM doc WHERE coll = ? AND kind = 0 AND ${lowerBound(after)} AND epk < ?
     ORDER BY epk LIMIT 1 OFFSET ${ROWS_A_STEP}`,
    number,
    from,
    range.maxExclusive,
  )
  const upTo = last === undefined ? undefined : textColumn(last, 0)
  const upper = upTo === undefined ? 'epk < ?' : 'epk <= ?'
  return {
    where: `coll = ? AND kind = 0 AND ${lowerBound(after)} AND ${upper} AND ${condition?.sql ?? 'TRUE'}`,
    values: [number, from, upTo ?? range.maxExclusive, ...(condition?.values ?? [])],
    upTo,
  }
}

/**
 * One bound, never two: of two SQLite seeks by either and looks at every row from the range's beginning,
 * so that all steps together would cost the square of the range.
 */
function lowerBound(after: string): string {
  return after === '' ? 'epk >= ?' : 'epk > ?'
}

function advanced(walk: RangeWalk, { upTo }: WalkStep, row: Row): RangeWalk {
  return {
    after: upTo ?? walk.after,
    documents: walk.documents + numberColumn(row, 0),
    bytes: walk.bytes + numberColumn(row, 1),
    isAtEnd: upTo === undefined,
  }
}
