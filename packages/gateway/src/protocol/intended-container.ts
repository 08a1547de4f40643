import type { CollectionRecord } from '@tidemark/store'
import { ContainerReplacedError } from '../errors/container-replaced-error.ts'
import { OtherContainerError } from '../errors/other-container-error.ts'
import { HEADER } from './header-names.ts'
import { rangeContainer } from './range-header.ts'

/**
 * `_rid` of the container that a client means: another one of the same name is not it. The service's own SDKs send
 * this header, too.
 */
export const INTENDED_CONTAINER = 'x-ms-cosmos-intended-collection-rid'

/**
 * @throws ERR_OTHER_CONTAINER, and ERR_CONTAINER_REPLACED when the header of a pkrange says it: a client means a container that was
 *   deleted, and there is another of its name
 */
export function assertIntended(
  { header }: { readonly header: (name: string) => string | undefined },
  { rid, id }: CollectionRecord,
): void {
  const intended = header(INTENDED_CONTAINER)
  if (intended !== undefined && intended !== rid) {
    throw new OtherContainerError(`collection ${JSON.stringify(id)} is not ${intended}: ${REMADE}`)
  }
  const ofRange = rangeContainer(header(HEADER.pkRangeId))
  if (ofRange !== undefined && ofRange !== rid) {
    throw new ContainerReplacedError(
      `header ${HEADER.pkRangeId} names a pkrange of ${ofRange}, which collection ${JSON.stringify(id)} is not: ${REMADE}`,
    )
  }
}

const REMADE = 'it was deleted and made again; read it again'
