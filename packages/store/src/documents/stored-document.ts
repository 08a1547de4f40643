import type { DocumentBody, Stored } from '@tidemark/contracts'

/** The document of a stored text. */
export function parseStored<T extends DocumentBody>(body: string): Stored<T> {
  // The only place where stored text becomes a typed document: users declare the type of the documents in a collection.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return JSON.parse(body) as Stored<T>
}

/**
 * A property that is computed on first use and then kept. Like a `get` of an object literal it is enumerable, so a copy
 * of the object has it too.
 */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
