import type { SegmentRow } from './memory-segment.ts'

/** Rows that one page reads, however few of them concern the reader. */
const MAX_EXAMINED_ROWS = 100_000

export interface CollectedPage<Item> {
  readonly items: readonly Item[]
  /** Where the page ends: LSN of the last item, or of the last row read; undefined = at the newest. */
  readonly lsn: number | undefined
  /** All rows were read: no limit ended the page. */
  readonly isWhole: boolean
}

/**
 * The items of a page: whole transactions, up to the limits (CF-7).
 *
 * @param rows in LSN order
 */
export function collectPage<Row extends SegmentRow, Item>(
  rows: Iterable<Row>,
  page: {
    readonly maxItems: number
    readonly maxChars: number
    /** What to deliver of a row; undefined = nothing. */
    readonly item: (row: Row) => Item | undefined
    readonly chars: (item: Item) => number
  },
): CollectedPage<Item> {
  const items: Item[] = []
  let chars = 0
  let examined = 0
  let examinedLsn: number | undefined
  let lastItemLsn: number | undefined
  for (const row of rows) {
    // A page can end only between transactions.
    if (row.lsn !== examinedLsn && examinedLsn !== undefined) {
      const full = items.length >= page.maxItems || chars >= page.maxChars
      if (full || examined >= MAX_EXAMINED_ROWS) {
        return { items, lsn: lastItemLsn ?? examinedLsn, isWhole: false }
      }
    }
    examined++
    examinedLsn = row.lsn
    const item = page.item(row)
    if (item === undefined) continue
    items.push(item)
    chars += page.chars(item)
    lastItemLsn = row.lsn
  }
  return { items, lsn: lastItemLsn, isWhole: true }
}
