import type { FeedRange } from '@tidemark/contracts'
import type { OpenCollection, RangeRecord } from '@tidemark/store/engine'
import { HEADER } from '../protocol/header-names.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'

/**
 * Holds a reader to its session in every range that it looks at (CF-15).
 *
 * Rejects with ERR_SESSION_AHEAD.
 */
export async function assertSession(
  request: GatewayRequest,
  { sessions }: GatewayContext,
  {
    open,
    ranges,
    keys,
  }: {
    readonly open: OpenCollection
    readonly ranges: readonly RangeRecord[]
    /** What of them is looked at. @default all */
    readonly keys?: FeedRange | undefined
  },
): Promise<void> {
  const token = request.header(HEADER.sessionToken)
  if (token === undefined) return
  const { signal } = request
  for (const range of ranges) {
    await sessions.assertReached(open, { range, keys: keys ?? range, token, signal })
  }
}
