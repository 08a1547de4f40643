import { partitionKeyPathSegments, isJsonRecord } from '@tidemark/contracts/internal'
import { BadQueryError } from '../query/bad-query-error.ts'
import { documentPath } from '../query/execution/equalities.ts'
import type { Query } from '../query/syntax/query.ts'
import { isPropertyPath } from '../resources/property-path.ts'

/** One key of an order: where it stands, as text, and its direction. */
interface OrderKey {
  /** Undefined for what is no property of the document. */
  readonly path: string | undefined
  readonly descending: boolean
}

/**
 * Refuses an ORDER BY of several keys that no composite index of the container has, in the same sequence and length and
 * with the same directions or all of them reversed. No index is needed here; the service refuses such a query.
 *
 * @throws ERR_BAD_QUERY
 */
export function assertCompositeIndex({ orderBy }: Query, indexingPolicy: unknown): void {
  if (orderBy.length < 2) return
  const wanted = orderBy.map(({ value, descending }): OrderKey => ({
    path: pathText(documentPath(value)),
    descending,
  }))
  if (compositeIndexes(indexingPolicy).some((index) => serves(index, wanted))) return
  // In the service's words at first: clients look for them.
  throw new BadQueryError(
    'The order by query does not have a corresponding composite index that it can be served from. ' +
      'Add one to compositeIndexes of the indexing policy, with the same paths in the same sequence',
  )
}

function serves(index: readonly OrderKey[], wanted: readonly OrderKey[]): boolean {
  const isReversed = index[0]?.descending !== wanted[0]?.descending
  return (
    index.length === wanted.length &&
    wanted.every(
      ({ path, descending }, at) =>
        path !== undefined &&
        path === index[at]?.path &&
        (descending !== index[at].descending) === isReversed,
    )
  )
}

/** What cannot be read serves nothing: policies were not always checked. */
function compositeIndexes(policy: unknown): readonly (readonly OrderKey[])[] {
  const indexes = isJsonRecord(policy) ? policy['compositeIndexes'] : undefined
  if (!Array.isArray(indexes)) return []
  return indexes.map((index: unknown) => (Array.isArray(index) ? index.map(orderKey) : []))
}

function orderKey(value: unknown): OrderKey {
  const { path, order } = isJsonRecord(value) ? value : {}
  return {
    path: isPropertyPath(path) ? pathText(partitionKeyPathSegments(path)) : undefined,
    descending: order === 'descending',
  }
}

function pathText(names: readonly string[] | undefined): string | undefined {
  return names && JSON.stringify(names)
}
