import { feedRangeId, type FeedRange } from '@tidemark/contracts'
import { allArePast, positionPart, type PositionList } from '@tidemark/store'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { parsePositions } from '../connection/position-list.ts'
import { numberColumn, textColumn, type Row } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'
import { raiseHorizons, type PurgedPart } from './raise-horizons.ts'
import type { PieceContext, PieceResult } from './piece.ts'

const NEXT_PENDING = `SELECT seq, lsn, ts, epk FROM doc INDEXED BY pending
  WHERE coll = ? AND kind = 1 AND seq >= ? ORDER BY seq LIMIT ?`

interface PurgeableRow {
  readonly seq: number
  readonly lsn: number
  /** The keys around it for which all groups waited for have one position each. */
  readonly keys: FeedRange
}

/** Pending deletes that may go, or when the next of a segment may. */
export interface PurgeView {
  /** In order of row number; of each segment the first ones. */
  readonly rows: readonly PurgeableRow[]
  /** Epoch seconds at which a retention is over that was all that was missing. */
  readonly nextDueSecond: number | undefined
  /** Where to go on when the walk was cut short; undefined when it came to the end. */
  readonly resumeAt: number | undefined
}

/**
 * Walks over a collection's pending deletes and picks those whose retention is over and that every group
 * waited for has come past (TTL-14). Of each segment in order, up to the first that has to stay: so that
 * one LSN says what is gone.
 */
export function findPurgeable(
  connection: Connection,
  collection: CollectionRow,
  {
    nowSecond,
    from,
    maxItems,
    maxSegments,
  }: {
    readonly nowSecond: number
    /** Row number to begin at. */
    readonly from: number
    readonly maxItems: number
    /** Segments that end in a row that has to stay. */
    readonly maxSegments: number
  },
): PurgeView {
  const { record } = collection
  const { retentionSeconds, waitFor } = record.definition.pendingDeletes
  const positions = waitFor.length === 0 ? NO_POSITIONS : groupPositions(connection, record.number)
  const positionsOf = (group: string): PositionList => positions.get(group) ?? []
  const found: PurgeableRow[] = []
  let nextDueSecond: number | undefined
  let next = from
  for (let segments = 0; segments < maxSegments && found.length < maxItems;) {
    const rows = connection.all(NEXT_PENDING, record.number, next, maxItems - found.length)
    if (rows.length === 0) return { rows: found, nextDueSecond, resumeAt: undefined }
    for (const row of rows) {
      const seq = numberColumn(row, 0)
      next = seq + 1
      const dueSecond = numberColumn(row, 2) + retentionSeconds
      if (dueSecond <= nowSecond && allHavePassed(row, waitFor, positionsOf)) {
        const keys = positionPart(waitFor, positionsOf, textColumn(row, 3))
        found.push({ seq, lsn: numberColumn(row, 1), keys })
        continue
      }
      if (dueSecond > nowSecond) nextDueSecond = Math.min(nextDueSecond ?? Infinity, dueSecond)
      next = (Math.floor(seq / SEGMENT_SLOTS) + 1) * SEGMENT_SLOTS
      segments++
      break
    }
  }
  return { rows: found, nextDueSecond, resumeAt: next }
}

/** Purges pending deletes from row number `from` on; says where the next piece goes on. */
export function purgePending(
  { connection, timeMs, maxItems }: PieceContext,
  collection: CollectionRow,
  from: number,
): PieceResult & { readonly resumeAt: number | undefined } {
  const nowSecond = Math.floor(timeMs / 1000)
  const view = { nowSecond, from, maxItems, maxSegments: MAX_SEGMENTS_A_PIECE }
  const { rows, resumeAt } = findPurgeable(connection, collection, view)
  const purged = new Map<string, PurgedPart>()
  for (const { seq, lsn, keys } of rows) {
    connection.run('DELETE FROM doc WHERE seq = ?', seq)
    const segment = Math.floor(seq / SEGMENT_SLOTS)
    purged.set(`${segment} ${feedRangeId(keys)}`, { segment, keys, lsn })
  }
  raiseHorizons(connection, collection, {
    column: 'horizon',
    purged: [...purged.values()],
    timeMs,
  })
  return { items: rows.length, more: resumeAt !== undefined, resumeAt }
}

const MAX_SEGMENTS_A_PIECE = 1000
const NO_POSITIONS: ReadonlyMap<string, PositionList> = new Map()

function groupPositions(
  connection: Connection,
  collection: number,
): ReadonlyMap<string, PositionList> {
  const rows = connection.all('SELECT grp, list FROM position WHERE coll = ?', collection)
  return new Map(rows.map((row) => [textColumn(row, 0), parsePositions(textColumn(row, 1))]))
}

function allHavePassed(
  row: Row,
  waitFor: readonly string[],
  positionsOf: (group: string) => PositionList,
): boolean {
  if (waitFor.length === 0) return true
  const place = { epk: textColumn(row, 3), lsn: numberColumn(row, 1) }
  return allArePast(waitFor, positionsOf, place)
}
