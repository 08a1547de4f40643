import {
  parsePositions,
  pendingDeleteAging,
  type CollectionRecord,
  type PositionList,
} from '@tidemark/store/engine'
import type { CollectionRow } from '../../connection/catalog-rows.ts'
import { textColumn } from '../../connection/column.ts'
import type { Connection } from '../../connection/connection.ts'
import type { PieceContext } from './piece.ts'
import { removeAged, type RemovedPiece } from './remove-aged.ts'

const POSITIONS = 'SELECT grp, list FROM position WHERE coll = ?'

/** Purges pending deletes whose retention is over and that every waiting group has passed. */
export function purgePending(
  context: PieceContext,
  collection: CollectionRow,
  from: number,
): RemovedPiece {
  const positions = groupPositions(context.connection, collection.record)
  const aging = pendingDeleteAging(collection.record, { positions, nowMs: context.timeMs })
  return removeAged(context, collection, { aging, from })
}

/** The positions of the groups for which a collection's pending deletes wait; empty when there are none. */
export function groupPositions(
  connection: Connection,
  { number, definition }: CollectionRecord,
): ReadonlyMap<string, PositionList> {
  if (definition.pendingDeletes.waitFor.length === 0) return new Map()
  const rows = connection.all(POSITIONS, number)
  return new Map(rows.map((row) => [textColumn(row, 0), parsePositions(textColumn(row, 1))]))
}
