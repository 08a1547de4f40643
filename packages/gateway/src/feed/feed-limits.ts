import { InvalidContinuationError } from '@tidemark/contracts'
import { resolveItemCount } from '@tidemark/store/engine'
import { HEADER } from '../protocol/header-names.ts'
import { itemCount } from '../protocol/request-values.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'

/** Characters that end a page early, as the service's pages end at 4 MB. The store's own pages are smaller. */
export const MAX_FEED_CHARS: number = 4 * 1024 * 1024

/** As of the store's own pages. @throws ERR_BAD_REQUEST */
export function feedItemCount({ header }: GatewayRequest): number {
  return resolveItemCount(itemCount(HEADER.maxItemCount, header(HEADER.maxItemCount)))
}

/**
 * A position above everything that the range has is of another copy of the store: going on from there would pass over
 * what gets the LSNs in between.
 *
 * @throws ERR_INVALID_CONTINUATION
 */
export function assertNotBeyond(afterLsn: number, newestLsn: number): void {
  if (afterLsn <= newestLsn) return
  throw new InvalidContinuationError(
    `the etag is at LSN ${afterLsn}, but the newest of its range is ${newestLsn}`,
  )
}
