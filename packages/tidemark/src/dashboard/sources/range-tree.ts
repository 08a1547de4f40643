/** A range with all of its ancestors, oldest first. */
export interface RangeWithAncestors {
  readonly id: string
  readonly parents: readonly string[]
}

/**
 * The ranges that each range was made of, of present ranges and of all of their ancestors. The store keeps only whole lists
 * of ancestors. A split makes two ranges with consecutive ids, and a merge one range with the ancestors of both.
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
  const ids = [...before.keys()].sort((one, other) => Number(one) - Number(other))
  const ancestors = new Map<string, readonly string[]>()
  for (const id of ids) ancestors.set(id, ancestorsOf(id, before))
  return new Map(
    ids.map((id) => {
      const all = ancestors.get(id) ?? []
      const last = all.at(-1)
      if (last === undefined) return [id, []]
      const older = new Set([last, ...(ancestors.get(last) ?? [])])
      const other = all.findLast((one) => !older.has(one))
      return [id, other === undefined ? [last] : [other, last]]
    }),
  )
}

/** In the list of a merged range, the second half of a split stands behind the first, which is no ancestor of it. */
function ancestorsOf(
  id: string,
  before: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const own = before.get(id) ?? []
  const first = String(Number(id) - 1)
  const isFirst = sameList(before.get(String(Number(id) + 1)), own)
  if (isFirst || !own.includes(first)) return own
  const rest = own.filter((one) => one !== first)
  return rest.length > 0 && sameList(before.get(first), rest) ? rest : own
}

function sameList(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return one?.length === other.length && one.every((value, index) => value === other[index])
}
