import { BadRequestError } from '@tidemark/contracts'
import type { CollectionNames } from '../collections/collection-directory.ts'
import type { ResourcePath } from '../protocol/resource-path.ts'

/** The name of the database of a path below `dbs`. */
export function databaseName({ segments }: ResourcePath): string {
  return named(segments[1])
}

/** The names of a path below `dbs/…/colls`. */
export function collectionNames({ segments, collectionRid }: ResourcePath): CollectionNames {
  return { database: named(segments[1]), collection: named(segments[3]), rid: collectionRid }
}

/** A segment of a path that must be there. */
export function named(segment: string | undefined): string {
  if (segment === undefined || segment === '') throw new BadRequestError('the path lacks a name')
  return segment
}
