import { BadRequestError } from '@tidemark/contracts'
import type { OpenCollection } from '@tidemark/store/engine'
import { HEADER } from '../protocol/header-names.ts'
import { wholeNumber } from '../protocol/request-values.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'
import type { FeedScope } from './feed-scope.ts'

/** Entries after a position, as JSON texts, and the position after them. */
export interface PositionedPage {
  readonly items: readonly string[]
  readonly lsn: number
  /** The range's newest when the page was read. */
  readonly newestLsn: number
}

/**
 * Reads a page; when there is nothing and the client is willing to wait (CF-12), waits for a change and reads again. A
 * gateway that stops answers those who wait that there is nothing yet.
 */
export async function readUntilChange(
  request: GatewayRequest,
  context: GatewayContext,
  {
    open,
    scope,
    afterLsn,
    read,
  }: {
    readonly open: OpenCollection
    readonly scope: FeedScope
    readonly afterLsn: number
    readonly read: (afterLsn: number) => Promise<PositionedPage>
  },
): Promise<PositionedPage> {
  const waitMs = waitTimeMs(request, context)
  let page = await read(afterLsn)
  if (waitMs === 0) return page
  const { engine, record: collection } = open
  const deadlineMs = context.clock.monotonicMs() + waitMs
  const signal = AbortSignal.any([request.signal, request.draining])
  while (page.items.length === 0 && !request.draining.aborted) {
    const timeoutMs = deadlineMs - context.clock.monotonicMs()
    if (timeoutMs <= 0) break
    try {
      const wait = { collection, range: scope.keys, afterLsn: page.lsn, timeoutMs, signal }
      if (!(await request.whileWaiting(() => engine.waitForCommit(wait)))) break
    } catch (error) {
      if (!request.draining.aborted || request.signal.aborted) throw error
      break
    }
    page = await read(page.lsn)
  }
  return page
}

/**
 * How long a feed read waits for the next change, in ms: what our own header says, at most what the gateway allows.
 * Without the header none: a client that knows nothing of it is answered at once.
 *
 * @throws ERR_BAD_REQUEST
 */
export function waitTimeMs({ header }: GatewayRequest, { maxWaitMs }: GatewayContext): number {
  const wanted = wholeNumber(HEADER.waitMs, header(HEADER.waitMs)) ?? 0
  if (wanted < 0) throw new BadRequestError(`header ${HEADER.waitMs} must not be below 0`)
  return Math.min(wanted, maxWaitMs)
}
