import {
  horizonsAfter,
  horizonsText,
  parseHorizons,
  removableRows,
  type Aging,
  type Horizons,
} from '@tidemark/store/engine'
import type { CollectionRow, RangeRow } from '../../connection/catalog-rows.ts'
import { textColumn } from '../../connection/column.ts'
import type { Connection } from '../../connection/connection.ts'
import { nextPurgeStamp } from '../../connection/head.ts'
import { oldestRows, type AgingRow } from './oldest-rows.ts'
import type { PieceContext, PieceResult } from './piece.ts'

/** `resumeAt` is where an interrupted piece continues: an index of the collection's ranges. Undefined: all were looked at. */
export interface RemovedPiece extends PieceResult {
  readonly resumeAt: number | undefined
}

/** A transaction has at most a hundred rows or so, and is never removed in part. */
const MIN_ROWS = 1000

/**
 * Removes rows after their retention, range by range in LSN order, and raises the horizons. It looks at all ranges, those
 * before `from` last: since an earlier piece was there, rows of them may have become due.
 */
export function removeAged(
  context: PieceContext,
  collection: CollectionRow,
  { aging, from }: { readonly aging: Aging; readonly from: number },
): RemovedPiece {
  const limit = Math.max(MIN_ROWS, context.maxItems)
  const { length } = collection.ranges
  const start = from % length
  const ranges = [...collection.ranges.slice(start), ...collection.ranges.slice(0, start)]
  let items = 0
  for (const [offset, range] of ranges.entries()) {
    const rows = oldestRows(context.connection, range, {
      kind: aging.kind,
      collection: collection.record.number,
      limit,
    })
    const removed = removableRows(rows, aging, context.maxItems - items)
    removeRows(context, range, { removed, aging })
    items += removed.length
    if (items < context.maxItems && !context.isOverdue()) continue
    // The same range may have more.
    const looked = offset + (removed.length === 0 ? 1 : 0)
    if (looked === length) break
    const next = start + looked
    // Not round and round in vain where no piece has the time for all ranges.
    return { items, more: removed.length > 0 || next < length, resumeAt: next % length }
  }
  return { items, more: false, resumeAt: undefined }
}

function removeRows(
  { connection, timeMs }: PieceContext,
  range: RangeRow,
  { removed, aging }: { readonly removed: readonly AgingRow[]; readonly aging: Aging },
): void {
  if (removed.length === 0) return
  const table = aging.kind === 'versions' ? 'log' : 'doc'
  const column = aging.kind === 'versions' ? 'loghorizon' : 'horizon'
  const stamp = nextPurgeStamp(connection, timeMs)
  for (const { seq } of removed) connection.run(`DELETE FROM ${table} WHERE seq = ?`, seq)
  const before = readHorizons(connection, range.segment, column)
  const text = horizonsText(horizonsAfter(before, removed, { range, aging, stamp }))
  connection.run(`UPDATE segment SET ${column} = ? WHERE id = ?`, text, range.segment)
}

function readHorizons(
  connection: Connection,
  segment: number,
  column: 'horizon' | 'loghorizon',
): Horizons {
  const row = connection.get(`SELECT ${column} FROM segment WHERE id = ?`, segment) ?? []
  return parseHorizons(textColumn(row, 0))
}
