/** The store did something else than the model says. */
export class Difference extends Error {
  override readonly name = 'Difference'
}

/** @throws Difference when `holds` is false */
export function expectThat(holds: boolean, what: () => string): void {
  if (!holds) throw new Difference(what())
}

/** Compares plain JSON values; the order of properties does not matter. */
export function expectSame(what: string, found: unknown, wanted: unknown): void {
  if (found === wanted) return
  const [left, right] = [canonical(found), canonical(wanted)]
  if (left !== right) throw new Difference(`${what}: found ${left}, the model says ${right}`)
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_name, part: unknown) => {
      if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
      const entries = Object.entries(part).filter(([, each]) => each !== undefined)
      return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    }) ?? 'undefined'
  )
}
