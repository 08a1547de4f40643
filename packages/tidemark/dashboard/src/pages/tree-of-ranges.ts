import type { RangeRow } from '../../../src/dashboard/views.ts'

export interface TreeRow {
  readonly id: string
  readonly range: RangeRow
  readonly depth: number
  /** It was made of several. */
  readonly isMerge: boolean
  /** Of all live documents; null: it is gone. */
  readonly share: number | null
}

/** Depth first: a range right below the one that it was made of. One that was merged stands below its first parent. */
export function treeOf(ranges: readonly RangeRow[]): readonly TreeRow[] {
  const known = new Set(ranges.map(({ id }) => id))
  const children = new Map<string | undefined, RangeRow[]>()
  for (const range of ranges) {
    const parent = range.parents.find((id) => known.has(id))
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [range])
    else siblings.push(range)
  }
  const all = ranges.reduce((sum, { documents }) => sum + (documents ?? 0), 0)
  const rows: TreeRow[] = []
  const add = (parent: string | undefined, depth: number): void => {
    const sorted = (children.get(parent) ?? []).toSorted(byKeys)
    for (const range of sorted) {
      const share = range.documents === null ? null : range.documents / Math.max(1, all)
      rows.push({ id: range.id, range, depth, isMerge: range.parents.length > 1, share })
      add(range.id, depth + 1)
    }
  }
  add(undefined, 0)
  return rows
}

function byKeys(a: RangeRow, b: RangeRow): number {
  if (a.from !== null && b.from !== null && a.from !== b.from) return a.from < b.from ? -1 : 1
  return Number(a.id) - Number(b.id)
}
