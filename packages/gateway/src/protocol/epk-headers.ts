import { type FeedRange, BadRequestError } from '@tidemark/contracts'
import { HEADER } from './header-names.ts'

/**
 * The interval of the EPK headers; undefined without them.
 *
 * @throws ERR_BAD_REQUEST when only one is there, or they are no interval
 */
export function epkBounds(request: {
  readonly header: (name: string) => string | undefined
}): FeedRange | undefined {
  // An empty lower bound is a value of its own, not a missing header: both are looked at as a pair.
  const minInclusive = request.header(HEADER.startEpk)?.toUpperCase() ?? ''
  const maxExclusive = request.header(HEADER.endEpk)?.toUpperCase()
  if (maxExclusive === undefined) {
    if (minInclusive === '') return undefined
    throw new BadRequestError(`${HEADER.startEpk} needs ${HEADER.endEpk} beside it`)
  }
  if (!/^[0-9A-F]*$/.test(minInclusive + maxExclusive) || minInclusive >= maxExclusive) {
    throw new BadRequestError(
      `${HEADER.startEpk} and ${HEADER.endEpk} must be an interval of hexadecimal keys`,
    )
  }
  return { minInclusive, maxExclusive }
}
