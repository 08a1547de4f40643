import type { FeedRange } from '@tidemark/contracts'
import { numberColumn, textColumn } from '../connection/column.ts'
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
export function walkRange(
  connection: Connection,
  { number, range, condition, nowSecond }: WalkedRange,
  walk: RangeWalk,
): RangeWalk {
  const where = `coll = ?2 AND kind = 0 AND epk > ?3 AND epk >= ?4 AND epk < ?5`
  const last = connection.get(
    `SELECT epk FROM doc WHERE ${where} ORDER BY epk LIMIT 1 OFFSET ${ROWS_A_STEP}`,
    nowSecond,
    number,
    walk.after,
    range.minInclusive,
    range.maxExclusive,
  )
  const upTo = last === undefined ? undefined : textColumn(last, 0)
  const row =
    connection.get(
      `SELECT count(*), coalesce(sum(octet_length(body)), 0) FROM doc
       WHERE ${where} AND epk <= ?6 AND ${condition ?? 'TRUE'}`,
      nowSecond,
      number,
      walk.after,
      range.minInclusive,
      range.maxExclusive,
      upTo ?? 'FF',
    ) ?? []
  return {
    after: upTo ?? walk.after,
    documents: walk.documents + numberColumn(row, 0),
    bytes: walk.bytes + numberColumn(row, 1),
    isAtEnd: upTo === undefined,
  }
}

/** The EPK `skip` live documents after `after`, or of the first behind it when `skip` is 0. */
export function epkAfter(
  connection: Connection,
  { number, range, condition, nowSecond }: WalkedRange,
  { after, skip }: { readonly after: string; readonly skip: number },
): string | undefined {
  const row = connection.get(
    `SELECT epk FROM doc WHERE coll = ?2 AND kind = 0 AND epk > ?3 AND epk >= ?4 AND epk < ?5
     AND ${condition ?? 'TRUE'} ORDER BY epk LIMIT 1 OFFSET ?6`,
    nowSecond,
    number,
    after,
    range.minInclusive,
    range.maxExclusive,
    skip,
  )
  return row && textColumn(row, 0)
}
