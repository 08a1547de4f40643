import type { CollectionRow } from '../../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../../connection/column.ts'
import { expireDocument } from '../expiry-writes.ts'
import type { TouchedRange } from '../writer-messages.ts'
import { NOTHING_TO_DO, type PieceContext, type PieceResult } from './piece.ts'

const EXPIRED = `SELECT seq, epk, exp FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0 AND exp <= ? ORDER BY exp LIMIT ? + 0`

/** Turns expired documents into pending deletes, the longest expired first. */
export function sweepExpired(context: PieceContext, collection: CollectionRow): PieceResult {
  const { connection, timeMs, maxItems } = context
  // Until the index is exact again, it may name documents that have not expired.
  if (collection.reindex !== undefined) return NOTHING_TO_DO
  const { number } = collection.record
  const rows = connection.all(EXPIRED, number, Math.floor(timeMs / 1000), maxItems)
  const touched: TouchedRange[] = []
  for (const row of rows) {
    const epk = textColumn(row, 1)
    const expired = { epk, seq: numberColumn(row, 0), second: numberColumn(row, 2) }
    const present = context.collectionFor(epk)
    touched.push(expireDocument(context, { ...expired, collection: present }))
    if (context.isOverdue()) return { items: touched.length, more: true, touched }
  }
  return { items: rows.length, more: rows.length >= maxItems, touched }
}
