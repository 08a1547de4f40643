import { ResourceNotFoundError } from '@tidemark/contracts'
import type { CollectionRecord } from '@tidemark/store'
import { HEADER } from './header-names.ts'
import { rangeContainer } from './range-header.ts'

/**
 * `_rid` of the container that a client means: another one of the same name is not it. The service's own SDKs send
 * this header, too.
 */
export const INTENDED_CONTAINER = 'x-ms-cosmos-intended-collection-rid'

/** Substatus of the service's 400 for a container that is not the intended one. */
export const OTHER_CONTAINER = 1024

/** @throws ERR_NOT_FOUND when a client means a container that was deleted, and there is another of its name */
export function assertIntended(
  { header }: { readonly header: (name: string) => string | undefined },
  { rid, id }: CollectionRecord,
): void {
  const intended = header(INTENDED_CONTAINER) ?? rangeContainer(header(HEADER.pkRangeId))
  if (intended !== undefined && intended !== rid) throw new ResourceNotFoundError('collection', id)
}
