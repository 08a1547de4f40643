import type { FeedRange } from '@tidemark/contracts'
import type { ScanPosition } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Condition } from '../connection/live-rows.ts'

/** Entries of an index that one step reads. Between steps, other work has its turn. */
const ENTRIES_A_STEP = 5000
/** The same where each entry leads to a row of its own, which may have to come from the disk. */
const ROWS_A_STEP = 1000

/** How far a walk over live documents in key order has come. */
export interface KeyWalk {
  readonly after: ScanPosition | undefined
  readonly documents: number
  readonly bytes: number
  readonly isAtEnd: boolean
}

export const WALK_START: KeyWalk = { after: undefined, documents: 0, bytes: 0, isAtEnd: false }

/** What the walk covers of a collection, in its present snapshot. */
export interface WalkedRange {
  readonly number: number
  readonly range: FeedRange
  /** Undefined where no document has expired: then the index alone counts them. */
  readonly condition: Condition | undefined
}

/**
 * One step of counting live documents and their bytes. Each step is a snapshot of its own. A change that is written
 * meanwhile may or may not be counted; a document that stays is counted once.
 */
export function walkRange(connection: Connection, walked: WalkedRange, walk: KeyWalk): KeyWalk {
  const size = 'octet_length(body)'
  return step(connection, walked, { walk, size, rows: ROWS_A_STEP })
}

/** As `walkRange`, without the bytes. */
export function countRange(connection: Connection, walked: WalkedRange, walk: KeyWalk): KeyWalk {
  const rows = walked.condition === undefined ? ENTRIES_A_STEP : ROWS_A_STEP
  return step(connection, walked, { walk, size: '0', rows })
}

function step(
  connection: Connection,
  { number, range, condition }: WalkedRange,
  { walk, size, rows }: { readonly walk: KeyWalk; readonly size: string; readonly rows: number },
): KeyWalk {
  const { after } = walk
  // One lower bound, never two: given two, SQLite seeks by either, and reads every row from the range's beginning.
  const lower = after === undefined ? 'epk >= ?' : '(epk, pk, id) > (?, ?, ?)'
  const from =
    after === undefined ? [range.minInclusive] : [after.epk, after.partitionKey, after.id]
  const next = `FROM doc WHERE coll = ? AND kind = 0 AND ${lower} AND epk < ? ORDER BY epk, pk, id LIMIT`
  const place = [number, ...from, range.maxExclusive]
  const sums =
    connection.get(
      `SELECT count(*), coalesce(sum(live), 0), coalesce(sum(iif(live, size, 0)), 0)
       FROM (SELECT ${condition?.sql ?? '1'} AS live, ${size} AS size ${next} ${rows})`,
      ...(condition?.values ?? []),
      ...place,
    ) ?? []
  const isAtEnd = numberColumn(sums, 0) < rows
  const last = isAtEnd
    ? undefined
    : connection.get(`SELECT epk, pk, id ${next} 1 OFFSET ${rows - 1}`, ...place)
  return {
    after: last && {
      epk: textColumn(last, 0),
      partitionKey: textColumn(last, 1),
      id: textColumn(last, 2),
    },
    documents: walk.documents + numberColumn(sums, 1),
    bytes: walk.bytes + numberColumn(sums, 2),
    isAtEnd,
  }
}

/** The EPK `skip` live documents after `after`, or of the first one after it when `skip` is 0. */
export function epkAfter(
  connection: Connection,
  walked: WalkedRange,
  { after, skip }: { readonly after: string; readonly skip: number },
): string | undefined {
  const { number, range, condition } = walked
  const row = connection.get(
    `SELECT epk FROM doc WHERE coll = ? AND kind = 0 AND ${after === '' ? 'epk >= ?' : 'epk > ?'} AND epk < ?
     AND ${condition?.sql ?? 'TRUE'} ORDER BY epk LIMIT 1 OFFSET ?`,
    number,
    after === '' ? range.minInclusive : after,
    range.maxExclusive,
    ...(condition?.values ?? []),
    skip,
  )
  return row && textColumn(row, 0)
}
