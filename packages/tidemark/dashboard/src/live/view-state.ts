import type { Row, StreamEvents } from '../../../src/dashboard/views.ts'

/** Any view: what is done to it is the same for all. */
export type AnyEvents = StreamEvents<object, Readonly<Record<string, readonly Row[]>>>
export type AnyView = AnyEvents['view']
export type AnyUpdate = AnyEvents['update']

/** Rows that did not change stay the same objects, and a table of which no row changed stays the same list. */
export function withUpdate(view: AnyView, update: AnyUpdate): AnyView {
  const tables: Record<string, readonly Row[]> = { ...view.tables }
  const changed = new Set([...Object.keys(update.rows ?? {}), ...Object.keys(update.removed ?? {})])
  for (const name of changed) {
    tables[name] = changedRows(
      tables[name] ?? [],
      update.rows?.[name] ?? [],
      update.removed?.[name] ?? [],
    )
  }
  return { atMs: update.atMs, head: { ...view.head, ...update.head }, tables }
}

function changedRows(
  rows: readonly Row[],
  changed: readonly Row[],
  removed: readonly string[],
): readonly Row[] {
  const next = new Map(rows.map((row) => [row.id, row]))
  for (const id of removed) next.delete(id)
  for (const row of changed) next.set(row.id, row)
  // What comes late in time stands last; keys have their own order.
  const rowsNow = [...next.values()]
  return next.size > rows.length && rowsNow.every(hasKeys) ? rowsNow.toSorted(byKeys) : rowsNow
}

interface KeyedRow extends Row {
  readonly from: string
}

/** A lease. */
function hasKeys(row: Row): row is KeyedRow {
  return 'from' in row && typeof row.from === 'string' && 'owner' in row
}

function byKeys(a: KeyedRow, b: KeyedRow): number {
  return a.from < b.from ? -1 : 1
}
