import { SYSTEM_PROPERTIES } from '@tidemark/contracts/internal'

const OWNED_BY_STORE: ReadonlySet<string> = new Set(SYSTEM_PROPERTIES)

const OWNED_OR_TTL: ReadonlySet<string> = new Set([...SYSTEM_PROPERTIES, 'ttl'])

/** Whether two documents say the same, whatever the order of their properties and whatever the store added. */
export function documentsEqual(a: object, b: object): boolean {
  return objectsEqual(a, b, OWNED_BY_STORE)
}

/** The same for a copy that carries its source's expiry: its `ttl` was made of that. */
export function documentsEqualButTtl(a: object, b: object): boolean {
  return objectsEqual(a, b, OWNED_OR_TTL)
}

const NONE: ReadonlySet<string> = new Set()

function valuesEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  // Stored as JSON, -0 is 0.
  if (typeof a === 'number' && typeof b === 'number') return a === b
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, index) => valuesEqual(value, b[index]))
  }
  return objectsEqual(a, b, NONE)
}

function objectsEqual(a: object, b: object, ignored: ReadonlySet<string>): boolean {
  // A property that is undefined is not written, so that it is the same as none.
  const left = Object.entries(a).filter(
    ([name, value]) => value !== undefined && !ignored.has(name),
  )
  const rightValues = new Map<string, unknown>(
    Object.entries(b).filter(([name, value]) => value !== undefined && !ignored.has(name)),
  )
  return (
    left.length === rightValues.size &&
    left.every(
      ([name, value]) => rightValues.has(name) && valuesEqual(value, rightValues.get(name)),
    )
  )
}
