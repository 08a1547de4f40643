/** The name that begins like that, or takes the fewest changes of a letter, if these are few. */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  const begun = names.find((name) => name.startsWith(wrong))
  if (begun !== undefined) return begun
  const ranked = names
    .map((name) => ({ name, changes: editDistance(wrong, name) }))
    .toSorted((a, b) => a.changes - b.changes)
  const [nearest] = ranked
  if (nearest === undefined) return undefined
  const isNear = nearest.changes <= Math.max(1, Math.floor(nearest.name.length / 3))
  return isNear ? nearest.name : undefined
}

/** Letters that have to be put in, taken out or replaced. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, left] of a.split('').entries()) {
    const next = [i + 1]
    for (const [j, right] of b.split('').entries()) {
      const replaced = (row[j] ?? 0) + (left === right ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
