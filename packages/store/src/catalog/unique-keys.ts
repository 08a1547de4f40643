import { InvalidOptionError, InvalidPartitionKeyError } from '@tidemark/contracts'
import { SYSTEM_PROPERTIES, partitionKeyPathSegments } from '@tidemark/contracts/internal'
import type { UniqueKey } from '../engine/catalog.ts'

/** As in Cosmos DB. */
const MAX_UNIQUE_KEYS = 10
/** As in Cosmos DB. */
const MAX_PATHS = 16
/** Properties that the store sets, or can set: their values are not known before the commit. */
const MADE_BY_STORE: ReadonlySet<string> = new Set([...SYSTEM_PROPERTIES, 'ttl'])

/**
 * Checks the unique keys of a new collection.
 *
 * @throws ERR_INVALID_OPTION naming the key or path
 */
export function checkedUniqueKeys(keys: readonly UniqueKey[]): readonly UniqueKey[] {
  if (!Array.isArray(keys)) {
    throw new InvalidOptionError(`uniqueKeys must be a list of lists of paths, got ${typeof keys}`)
  }
  if (keys.length > MAX_UNIQUE_KEYS) {
    throw new InvalidOptionError(
      `a collection has at most ${MAX_UNIQUE_KEYS} unique keys, got ${keys.length}`,
    )
  }
  const checked = keys.map(checkedUniqueKey)
  const names = checked.map((paths) => JSON.stringify(paths.map(uniqueKeyPathSegments)))
  if (new Set(names).size !== names.length) {
    throw new InvalidOptionError('two unique keys have the same paths')
  }
  return checked
}

/**
 * The property names of a path, with the rules of partition key paths.
 *
 * @throws ERR_INVALID_OPTION
 */
export function uniqueKeyPathSegments(path: string): readonly string[] {
  try {
    return partitionKeyPathSegments(path)
  } catch (cause) {
    if (!(cause instanceof InvalidPartitionKeyError)) throw cause
    throw new InvalidOptionError(
      `unique key path ${JSON.stringify(path)} must look like "/property" or "/outer/inner"`,
      { cause },
    )
  }
}

function checkedUniqueKey(paths: unknown): UniqueKey {
  if (!isTextList(paths) || paths.length === 0) {
    throw new InvalidOptionError(
      `a unique key must be a list of paths, got ${JSON.stringify(paths) ?? typeof paths}`,
    )
  }
  if (paths.length > MAX_PATHS) {
    throw new InvalidOptionError(`a unique key has at most ${MAX_PATHS} paths, got ${paths.length}`)
  }
  const names = paths.map((path) => {
    const segments = uniqueKeyPathSegments(path)
    if (MADE_BY_STORE.has(segments[0] ?? '')) {
      throw new InvalidOptionError(`unique key path ${path} is a property that the store sets`)
    }
    return JSON.stringify(segments)
  })
  if (new Set(names).size !== names.length) {
    throw new InvalidOptionError(`the paths of a unique key must differ: ${paths.join(', ')}`)
  }
  return [...paths]
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
