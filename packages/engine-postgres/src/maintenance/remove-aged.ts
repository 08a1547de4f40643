import {
  horizonsAfter,
  horizonsText,
  parseHorizons,
  removableRows,
  type Aging,
  type AgingKind,
} from '@tidemark/store/engine'
import type { CollectionRow, RangeRow } from '../catalog/collection-row.ts'
import { integerArray, textArray } from '../connection/binary-array.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import { nextPurgeStamp } from '../writer/purge-stamp.ts'
import type { RowWriter } from '../writer/range-rows.ts'
import { oldestOfRanges, oldestRows, type AgingRow } from './aging-rows.ts'
import { NOTHING_TO_DO, type DonePiece } from './piece.ts'

/** A transaction has at most a hundred rows or so, and is never removed in part. */
const MIN_ROWS = 1000
/** Ranges for which one piece removes rows: each takes some statements. */
const MAX_RANGES = 20

const DELETE: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: deleteFrom('doc'),
  versions: deleteFrom('log'),
}
const READ_HORIZONS: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: 'SELECT id, horizon FROM :schema.segment WHERE id = ANY($1::integer[])',
  versions: 'SELECT id, log_horizon FROM :schema.segment WHERE id = ANY($1::integer[])',
}
const SET_HORIZONS: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: setHorizons('horizon'),
  versions: setHorizons('log_horizon'),
}

/** The context of a piece: a transaction that has the collection's row, and its time. */
export interface AgedPiece {
  readonly writer: RowWriter
  readonly database: number
  readonly collection: CollectionRow
  readonly maxItems: number
  readonly timeMs: number
}

/** Removes rows after their retention, range by range in LSN order, and raises the horizons. */
export async function removeAged(piece: AgedPiece, aging: Aging): Promise<DonePiece> {
  const { writer, collection, maxItems } = piece
  const place = { kind: aging.kind, collection: collection.record.number }
  const oldest = await oldestOfRanges(writer, place)
  const due = collection.ranges.filter(({ number }) => {
    const row = oldest.get(number)
    return row !== undefined && aging.mayGo(row)
  })
  const removed = new Map<RangeRow, readonly AgingRow[]>()
  const limit = Math.max(MIN_ROWS, maxItems)
  let items = 0
  for (const range of due) {
    const rows = await oldestRows(writer, range, { ...place, limit })
    const taken = removableRows(rows, aging, maxItems - items)
    if (taken.length === 0) continue
    removed.set(range, taken)
    items += taken.length
    if (items >= maxItems || removed.size >= MAX_RANGES) break
  }
  if (items === 0) return NOTHING_TO_DO
  await removeRows(piece, { aging, removed })
  return { items, more: items >= maxItems || removed.size >= MAX_RANGES }
}

async function removeRows(
  { writer, database, timeMs }: AgedPiece,
  {
    aging,
    removed,
  }: { readonly aging: Aging; readonly removed: ReadonlyMap<RangeRow, readonly AgingRow[]> },
): Promise<void> {
  const { sql, statements } = writer
  const rows = [...removed.values()].flat()
  await sql.rows(statements.of(DELETE[aging.kind]), [
    integerArray(rows.map(({ segment }) => segment)),
    integerArray(rows.map(({ lsn }) => lsn)),
    integerArray(rows.map(({ ord }) => ord)),
  ])
  const stamp = await nextPurgeStamp(writer, { database, timeMs })
  const opens = integerArray([...removed.keys()].map(({ segment }) => segment))
  const present = await sql.rows(statements.of(READ_HORIZONS[aging.kind]), [opens])
  const horizons = new Map(
    present.map((row) => [numberColumn(row, 0), parseHorizons(textColumn(row, 1))]),
  )
  const raised = [...removed].map(([range, gone]) => {
    const before = horizons.get(range.segment) ?? []
    return horizonsText(horizonsAfter(before, gone, { range, aging, stamp }))
  })
  // Last, and all in one statement: it waits for the running commits, and others wait for it.
  await sql.rows(statements.of(SET_HORIZONS[aging.kind]), [opens, textArray(raised)])
}

function deleteFrom(table: 'doc' | 'log'): string {
  return `DELETE FROM :schema.${table} d
USING unnest($1::integer[], $2::bigint[], $3::integer[]) AS o(segment, lsn, ord)
WHERE d.segment = o.segment AND d.lsn = o.lsn AND d.ord = o.ord`
}

/** Locked by id before the first change, as in commits. */
function setHorizons(column: 'horizon' | 'log_horizon'): string {
  return `WITH locked AS MATERIALIZED (
  SELECT id FROM :schema.segment WHERE id = ANY($1::integer[]) ORDER BY id FOR NO KEY UPDATE)
UPDATE :schema.segment s SET ${column} = o.text
FROM locked l JOIN unnest($1::integer[], $2::text[]) AS o(id, text) ON o.id = l.id WHERE s.id = l.id`
}
