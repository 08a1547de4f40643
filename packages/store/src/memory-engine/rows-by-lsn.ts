import type { MemorySegment, SegmentRow } from './memory-segment.ts'

interface Cursor<Row extends SegmentRow> {
  readonly segment: MemorySegment<Row>
  slot: number
  row: Row | undefined
}

/**
 * Rows of several segments above an LSN, in LSN order. Rows of one LSN come in the order of the segments, and within a
 * segment in the order of writing. The segments must not change meanwhile.
 */
export function* rowsByLsn<Row extends SegmentRow>(
  segments: readonly MemorySegment<Row>[],
  afterLsn: number,
): Generator<Row, void> {
  const cursors = segments
    .map((segment): Cursor<Row> => ({
      segment,
      slot: segment.slotAfter(afterLsn) - 1,
      row: undefined,
    }))
    .filter((cursor) => advance(cursor))
  for (;;) {
    let first: Cursor<Row> | undefined
    for (const cursor of cursors) {
      if (cursor.row === undefined) continue
      if (first?.row === undefined || cursor.row.lsn < first.row.lsn) first = cursor
    }
    if (first?.row === undefined) return
    yield first.row
    if (!advance(first)) cursors.splice(cursors.indexOf(first), 1)
  }
}

/** Moves to the next existing row; false at the end. */
function advance<Row extends SegmentRow>(cursor: Cursor<Row>): boolean {
  do {
    cursor.slot++
    cursor.row = cursor.segment.rowAt(cursor.slot)
  } while (cursor.row === undefined && cursor.slot < cursor.segment.slots)
  return cursor.row !== undefined
}
