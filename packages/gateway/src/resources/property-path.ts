/** A name in quotes, or of letters, digits and underscores: others have to be quoted, as in the service. */
const NAME = String.raw`(?:"(?:[^"\\]|\\.)+"|'(?:[^'\\]|\\.)+'|[\p{L}\p{N}_]+)`
const PROPERTY = new RegExp(`^(?:/${NAME})+$`, 'u')
const INDEXED = new RegExp(String.raw`^(?:/|(?:/(?:${NAME}|\[\]))*/[?*])$`, 'u')

/** Whether a value is the path of a property, as `/a/b`: without a slash at its end, and without wildcards. */
export function isPropertyPath(value: unknown): value is string {
  return typeof value === 'string' && PROPERTY.test(value)
}

/** Whether a value is a path of included or excluded properties, as `/a/?`, `/a/*` or `/list/[]/n/?`. */
export function isIndexedPath(value: unknown): value is string {
  return typeof value === 'string' && INDEXED.test(value)
}
