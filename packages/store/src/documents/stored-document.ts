import type { DocumentBody, Stored } from '@tidemark/contracts'

/** The document of a stored text. */
export function parseStored<T extends DocumentBody>(body: string): Stored<T> {
  // The one place where stored text becomes a typed document: users say what they keep in a collection.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return JSON.parse(body) as Stored<T>
}

/**
 * A property that is made on first use and then kept, as `get` of an object literal would have it:
 * enumerable, so that a copy of the object has it too.
 */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
