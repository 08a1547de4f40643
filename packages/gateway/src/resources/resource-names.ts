import { BadRequestError } from '../errors/bad-request-error.ts'
import type { ResourcePath } from '../protocol/resource-path.ts'

/** Names of a database and of a collection in it. */
export interface CollectionNames {
  readonly database: string
  readonly collection: string
}

/** The name of the database of a path below `dbs`. */
export function databaseName({ segments }: ResourcePath): string {
  return named(segments[1])
}

/** The names of a path below `dbs/…/colls`. */
export function collectionNames({ segments }: ResourcePath): CollectionNames {
  return { database: named(segments[1]), collection: named(segments[3]) }
}

/** The id of the document of a path below `dbs/…/colls/…/docs`. */
export function documentId({ segments }: ResourcePath): string {
  return named(segments[5])
}

function named(segment: string | undefined): string {
  if (segment === undefined || segment === '') throw new BadRequestError('the path lacks a name')
  return segment
}
