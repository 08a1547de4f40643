import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'

/** The unique keys of a container's definition, as the store takes them; what cannot be read is none. */
export function uniqueKeysOf(definition: JsonRecord): readonly (readonly string[])[] {
  const policy = definition['uniqueKeyPolicy']
  const keys = isJsonRecord(policy) ? policy['uniqueKeys'] : undefined
  if (!Array.isArray(keys)) return []
  return keys.flatMap((key: unknown) => {
    const paths: unknown = isJsonRecord(key) ? key['paths'] : undefined
    if (!Array.isArray(paths) || paths.length === 0) return []
    return [paths.filter((path) => typeof path === 'string')]
  })
}
