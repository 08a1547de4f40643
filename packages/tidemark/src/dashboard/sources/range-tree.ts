/** A range with all of its ancestors, oldest first. */
export interface RangeWithAncestors {
  readonly id: string
  readonly parents: readonly string[]
}

/**
 * The ranges that each range was made of, of present ranges and of all of their ancestors. The store keeps only whole lists
 * of ancestors. A split makes two ranges with consecutive ids, and a merge one range with the ancestors of both. So the origin
 * of a range that was made with the collection and merged later is not always certain.
 */
export function parentsOf(
  present: readonly RangeWithAncestors[],
): ReadonlyMap<string, readonly string[]> {
  const before = new Map<string, readonly string[]>()
  for (const { id, parents } of present) before.set(id, parents)
  for (const { parents } of present) {
    for (const [index, id] of parents.entries()) {
      const known = before.get(id)
      if (known === undefined || known.length > index) before.set(id, parents.slice(0, index))
    }
  }
  const live = new Set(present.map(({ id }) => id))
  const ids = [...before.keys()].sort((one, other) => Number(one) - Number(other))
  const ancestors = new Map<string, readonly string[]>()
  for (const id of ids) {
    const listed = before.get(id) ?? []
    ancestors.set(id, live.has(id) ? listed : ancestorsOf(id, { listed, before, ancestors }))
  }
  return new Map(ids.map((id) => [id, lastOf(ancestors.get(id) ?? [], ancestors)]))
}

type Lists = ReadonlyMap<string, readonly string[]>

/** The last ancestor, and before it the last that is none of its ancestors, if there is one: they were merged. */
function lastOf(all: readonly string[], ancestors: Lists): readonly string[] {
  const last = all.at(-1)
  if (last === undefined) return []
  const older = new Set([last, ...(ancestors.get(last) ?? [])])
  const other = all.findLast((one) => !older.has(one))
  return other === undefined ? [last] : [other, last]
}

/**
 * Of a range that is gone: what stands before it in the list of another one, without what came into that list by a merge.
 * `ancestors`: of all ranges with lower ids.
 */
function ancestorsOf(
  id: string,
  {
    listed,
    before,
    ancestors,
  }: { readonly listed: readonly string[]; readonly before: Lists; readonly ancestors: Lists },
): readonly string[] {
  const beside = (by: number): string => String(Number(id) + by)
  // The other half of a split has the same ancestors, and stands beside it.
  const isHalf = (other: readonly string[] | undefined, next: readonly string[] | undefined) =>
    other !== undefined &&
    lastOf(other, ancestors).length === 1 &&
    other.every((one) => listed.includes(one)) &&
    !(next !== undefined && sameList(next, other))
  const lower = ancestors.get(beside(-1))
  if (lower !== undefined && isHalf(lower, ancestors.get(beside(-2)))) return lower
  // Not resolved yet: the second half of a split may have the first in its list.
  const higher = before.get(beside(1))?.filter((one) => one !== id)
  const next = before.get(beside(2))?.filter((one) => one !== beside(1))
  if (higher !== undefined && isHalf(higher, next)) return higher
  // Neither a half nor merged: one that was made with the collection.
  return lastOf(listed, ancestors).length > 1 ? listed : []
}

function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index])
}
