import { InvalidPartitionKeyError } from '../errors/invalid-partition-key-error.ts'

/** One component of a partition key value. `undefined` = the document has no such property (None). */
export type PartitionKeyComponent = string | number | boolean | null | undefined

/** A partition key value: the component itself where there is one path, else one entry a path. */
export type PartitionKey = PartitionKeyComponent | readonly PartitionKeyComponent[]

/** How the documents of a collection are spread (ST-1). */
export interface PartitionKeyDefinition {
  /** 1 to 3 paths such as `/tenant/id`. More than one = hierarchical. */
  readonly paths: readonly string[]
  /** Hash version. 2 unless a wire client asked for 1. */
  readonly version: 1 | 2
  readonly kind: 'Hash' | 'MultiHash'
}

const MAX_PATHS = 3

/**
 * Checks and completes a definition.
 *
 * @throws ERR_INVALID_PARTITION_KEY when there are not 1 to 3 paths, or one has no leading slash or
 *   an empty segment
 */
export function partitionKeyDefinition(
  paths: string | readonly string[],
  version: 1 | 2 = 2,
): PartitionKeyDefinition {
  const list = typeof paths === 'string' ? [paths] : [...paths]
  if (list.length < 1 || list.length > MAX_PATHS) {
    throw new InvalidPartitionKeyError(
      `a partition key has 1 to ${MAX_PATHS} paths, got ${list.length}`,
    )
  }
  for (const path of list) partitionKeyPathSegments(path)
  if (new Set(list).size !== list.length) {
    throw new InvalidPartitionKeyError(`partition key paths must differ: ${list.join(', ')}`)
  }
  return { paths: list, version, kind: list.length > 1 ? 'MultiHash' : 'Hash' }
}

/**
 * The property names of a path: `/a/b` is `['a', 'b']`. A name that has a slash stands in quotes, `/"a/b"`; what is
 * between them counts as it is, as for Cosmos DB's clients.
 *
 * @throws ERR_INVALID_PARTITION_KEY
 */
export function partitionKeyPathSegments(path: string): readonly string[] {
  const segments: string[] = []
  for (let at = 0; at < path.length || segments.length === 0;) {
    const segment = /\/(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)'|([^/"'][^/]*))/y
    segment.lastIndex = at
    const match = segment.exec(path)
    if (match === null) {
      throw new InvalidPartitionKeyError(
        `partition key path ${JSON.stringify(path)} must look like "/property" or "/outer/inner"`,
      )
    }
    segments.push(match[1] ?? match[2] ?? match[3] ?? '')
    at = segment.lastIndex
  }
  return segments
}

/** One entry a path of a value that was checked before, as changes carry it. */
export function keyComponents(value: PartitionKey): readonly PartitionKeyComponent[] {
  return isComponentList(value) ? value : [value]
}

/** One entry a path, checked: the form that is hashed and stored. `-0` becomes `0`. */
export function partitionKeyComponents(
  value: PartitionKey,
  pathCount: number,
): readonly PartitionKeyComponent[] {
  const components = keyComponents(value)
  if (components.length !== pathCount) {
    throw new InvalidPartitionKeyError(
      `a partition key value needs ${pathCount} components, got ${components.length}`,
    )
  }
  return components.map(checkedComponent)
}

/** Reads the value out of a document. A missing property, an object or an array counts as None. */
export function extractPartitionKey(
  document: object,
  paths: readonly (readonly string[])[],
): readonly PartitionKeyComponent[] {
  return paths.map((segments) => {
    let value: unknown = document
    for (const segment of segments) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment))
        return undefined
      value = Reflect.get(value, segment)
    }
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value
      case 'number':
        return checkedComponent(value)
      default:
        return value === null ? null : undefined
    }
  })
}

/** The canonical text of a value, as on the wire: a JSON array in which None is `{}`. */
export function partitionKeyText(components: readonly PartitionKeyComponent[]): string {
  return JSON.stringify(components.map((component) => (component === undefined ? {} : component)))
}

/** The value of a canonical text made by `partitionKeyText`. */
export function parsePartitionKeyText(text: string): readonly PartitionKeyComponent[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw new InvalidPartitionKeyError(`partition key text is not JSON: ${shown(text)}`, { cause })
  }
  if (!Array.isArray(parsed)) {
    throw new InvalidPartitionKeyError(`partition key text is not a JSON array: ${shown(text)}`)
  }
  return parsed.map((entry: unknown) => {
    if (entry === null || typeof entry === 'string' || typeof entry === 'boolean') return entry
    if (typeof entry === 'number') return checkedComponent(entry)
    if (typeof entry === 'object' && !Array.isArray(entry) && Object.keys(entry).length === 0) {
      return undefined
    }
    // Not written as text again: a value that is nested deep enough overflows the stack.
    throw new InvalidPartitionKeyError(
      `a partition key component must be a string, number, boolean or null, or {} for none: ${shown(text)}`,
    )
  })
}

const MAX_SHOWN_CHARS = 100

function shown(text: string): string {
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text
}

/** The form that users see: the component itself where there is one. */
export function partitionKeyOf(components: readonly PartitionKeyComponent[]): PartitionKey {
  return components.length === 1 ? components[0] : components
}

function isComponentList(value: PartitionKey): value is readonly PartitionKeyComponent[] {
  return Array.isArray(value)
}

function checkedComponent(value: unknown): PartitionKeyComponent {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (!Number.isFinite(value)) {
        throw new InvalidPartitionKeyError(`partition key number must be finite, got ${value}`)
      }
      return value === 0 ? 0 : value
    default:
      if (value === null) return null
      throw new InvalidPartitionKeyError(
        `a partition key component is a string, number, boolean, null or undefined, got ${typeof value}`,
      )
  }
}
