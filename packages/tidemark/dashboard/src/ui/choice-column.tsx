import type { Column } from './table.tsx'

export interface Choice<Item> {
  /** Those that are shown. */
  readonly rows: readonly Item[]
  readonly chosen: ReadonlySet<string>
  readonly setChosen: (chosen: ReadonlySet<string>) => void
  /** Of a row, behind "Choose". */
  readonly nameOf: (item: Item) => string
}

/** A box to tick for each row, and one for all that are shown. */
export function choiceColumn<Item extends { readonly id: string }>({
  rows,
  chosen,
  setChosen,
  nameOf,
}: Choice<Item>): Column<Item> {
  const isAll = rows.length > 0 && rows.every(({ id }) => chosen.has(id))
  return {
    key: 'choice',
    title: 'Chosen',
    width: 36,
    header: (
      <input
        type="checkbox"
        aria-label="Choose all that are shown"
        checked={isAll}
        onChange={() => setChosen(new Set(isAll ? [] : rows.map(({ id }) => id)))}
      />
    ),
    cell: (item) => (
      <input
        type="checkbox"
        aria-label={`Choose ${nameOf(item)}`}
        checked={chosen.has(item.id)}
        onChange={() => setChosen(toggled(chosen, item.id))}
      />
    ),
  }
}

function toggled(chosen: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(chosen)
  if (!next.delete(id)) next.add(id)
  return next
}
