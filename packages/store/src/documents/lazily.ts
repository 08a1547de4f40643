/**
 * A property that is computed on first use and then kept. Like a `get` of an object literal it is enumerable, so a copy
 * of the object has it too.
 */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
