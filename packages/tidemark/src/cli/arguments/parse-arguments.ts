import { InvalidArgumentError } from 'commander'

/** A collection as the command names it: `database/collection`. */
export interface CollectionName {
  readonly database: string
  readonly collection: string
}

/** Parses `database/collection` for commander. */
export function collectionName(text: string): CollectionName {
  const [database, collection, ...rest] = text.split('/')
  if (!database || !collection || rest.length > 0) {
    throw new InvalidArgumentError('It must look like database/collection.')
  }
  return { database, collection }
}

/** What `tidemark ls` and `drop` name: a database, or a collection of it. */
export interface PlaceName {
  readonly database: string
  readonly collection: string | undefined
}

/** Parses `database` or `database/collection` for commander. */
export function placeName(text: string): PlaceName {
  const [database, collection, ...rest] = text.split('/')
  if (!database || collection === '' || rest.length > 0) {
    throw new InvalidArgumentError('It must look like database or database/collection.')
  }
  return { database, collection }
}

/** Parses a whole number of at least `minimum`, and at most `maximum`, for commander. */
export function wholeNumber(
  minimum: number,
  maximum: number = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  const upTo = maximum === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${maximum}`
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !(value >= minimum && value <= maximum)) {
      throw new InvalidArgumentError(`It must be a whole number of at least ${minimum}${upTo}.`)
    }
    return value
  }
}

/** Parses paths of a partition key or unique key: comma-separated, each with a leading slash. */
export function propertyPaths(text: string): readonly string[] {
  const paths = text.split(',').map((path) => path.trim())
  if (paths.some((path) => !/^\/[^/]/.test(path))) {
    throw new InvalidArgumentError(
      'It must look like /property or /outer/inner; several with commas.',
    )
  }
  return paths
}

const LARGEST_PORT = 65_535

/** Parses a port for commander; 0 is any free one. */
export function portNumber(): (text: string) => number {
  return wholeNumber(0, LARGEST_PORT)
}
