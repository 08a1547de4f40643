import { allArePast, parsePositions, positionPart, type PositionList } from '@tidemark/store/engine'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { AgingRow } from './oldest-rows.ts'
import type { PieceContext } from './piece.ts'
import { removeAged, type Aging, type RemovedPiece } from './remove-aged.ts'

const ANY_PENDING =
  'SELECT 1 FROM doc INDEXED BY pending WHERE coll = ? AND kind = 1 AND seq > 0 LIMIT 1'
const POSITIONS = 'SELECT grp, list FROM position WHERE coll = ?'

/** When a pending delete can be purged (TTL-14). */
export interface PendingDeleteAging extends Aging {
  /** Epoch second at which its retention is over. */
  retainedUntil(row: AgingRow): number
  /** True when every waiting group has passed it. */
  isPassed(row: AgingRow): boolean
}

export function pendingDeleteAging(
  connection: Connection,
  { record }: CollectionRow,
  nowSecond: number,
): PendingDeleteAging {
  const { retentionSeconds, waitFor } = record.definition.pendingDeletes
  const positions = new Map<string, PositionList>()
  if (waitFor.length > 0) {
    for (const row of connection.all(POSITIONS, record.number)) {
      positions.set(textColumn(row, 0), parsePositions(textColumn(row, 1)))
    }
  }
  const positionsOf = (group: string): PositionList => positions.get(group) ?? []
  const retainedUntil = ({ writtenAt }: AgingRow): number => writtenAt + retentionSeconds
  const isPassed = (row: AgingRow): boolean => allArePast(waitFor, positionsOf, row)
  return {
    kind: 'pendingDeletes',
    retainedUntil,
    isPassed,
    mayGo: (row) => retainedUntil(row) <= nowSecond && isPassed(row),
    keysAround: (epk) => positionPart(waitFor, positionsOf, epk),
  }
}

/** Whether a collection has pending deletes at all. Most have none, and the check runs every second. */
export function hasPendingDeletes(connection: Connection, { record }: CollectionRow): boolean {
  return connection.get(ANY_PENDING, record.number) !== undefined
}

/** Purges pending deletes whose retention is over and that every waiting group has passed. */
export function purgePending(
  context: PieceContext,
  collection: CollectionRow,
  from: number,
): RemovedPiece {
  const nowSecond = Math.floor(context.timeMs / 1000)
  const aging = pendingDeleteAging(context.connection, collection, nowSecond)
  return removeAged(context, collection, { aging, from })
}
