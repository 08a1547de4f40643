import { BadRequestError } from '@tidemark/contracts'
import { HEADER } from './header-names.ts'

/**
 * The number of a pkrange header: an id, or a container's `_rid` and an id.
 *
 * @throws ERR_BAD_REQUEST
 */
export function rangeNumber(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const id = header.slice(header.lastIndexOf(',') + 1).trim()
  if (/^\d{1,9}$/.test(id)) return Number(id)
  throw new BadRequestError(
    `header ${HEADER.pkRangeId} must be the id of a pkrange, got ${JSON.stringify(header)}`,
  )
}

/** The `_rid` before the comma of a pkrange header: old clients name the container that they mean there. */
export function rangeContainer(header: string | undefined): string | undefined {
  const comma = header?.lastIndexOf(',') ?? -1
  return comma === -1 ? undefined : header?.slice(0, comma).trim()
}
