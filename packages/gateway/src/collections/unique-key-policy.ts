import { isJsonRecord, type JsonRecord } from '../protocol/request-values.ts'

/** Paths whose values, taken together, only one document of a partition key value may have. */
export type UniqueKey = readonly string[]

/** The unique keys of a container's definition; what cannot be read is none. */
export function uniqueKeysOf(definition: JsonRecord): readonly UniqueKey[] {
  const policy = definition['uniqueKeyPolicy']
  const keys = isJsonRecord(policy) ? policy['uniqueKeys'] : undefined
  if (!Array.isArray(keys)) return []
  return keys.flatMap((key: unknown) => {
    const paths: unknown = isJsonRecord(key) ? key['paths'] : undefined
    if (!Array.isArray(paths) || paths.length === 0) return []
    return [paths.filter((path) => typeof path === 'string')]
  })
}

/** The values of a document at a unique key's paths, as text. What is missing counts as null, as in the service. */
export function uniqueValues(document: object, key: UniqueKey): string {
  return JSON.stringify(key.map((path) => valueAt(document, path) ?? null))
}

function valueAt(document: object, path: string): unknown {
  let value: unknown = document
  for (const segment of path.split('/').slice(1)) {
    if (!isJsonRecord(value) || !Object.hasOwn(value, segment)) return undefined
    value = value[segment]
  }
  return value
}
