import { InvalidContinuationError } from '@tidemark/contracts'
import { LIVE_ROW, type OpenCollection } from '@tidemark/store'
import { inRange, type RangeOutcome } from '../documents/key-scope.ts'
import { HEADER } from '../protocol/header-names.ts'
import { listBody } from '../protocol/list-body.ts'
import { itemCount } from '../protocol/request-values.ts'
import { pageCharge } from '../protocol/request-charge.ts'
import { collectionNames } from '../resources/resource-names.ts'
import type { GatewayContext, GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { feedScope, type FeedScope } from './feed-scope.ts'
import { positionEtag, requestedStart, startLsn } from './feed-start.ts'
import { mayShareEpk, isOfPartitionKey } from './partition-key-filter.ts'
import { waitTimeMs } from './waiting-read.ts'

/** Documents of a page when the client does not say how many. */
export const DEFAULT_FEED_ITEMS = 1000
/** Characters that end a page early; as the store's own pages. */
export const MAX_FEED_CHARS: number = 4 * 1024 * 1024

/** Documents after a position, and the position after them. */
interface IncrementalPage {
  readonly bodies: readonly string[]
  readonly lsn: number
}

/** GET …/docs with `A-IM: Incremental feed`: the newest versions, in the order of their changes. */
export const readIncrementalFeed: Operation = async (request, context) =>
  context.collections.use(collectionNames(request.path), async ({ open }) => {
    const scope = await feedScope(request, context, open)
    return inRange(request, context, { open, range: scope.range }, async () => {
      const token = request.header(HEADER.sessionToken)
      const { signal } = request
      const { range } = scope
      if (token !== undefined) await context.sessions.assertReached(open, { range, token, signal })
      return incrementalOutcome(open, scope, await readWaiting(request, context, { open, scope }))
    })
  })

function incrementalOutcome(
  { record }: OpenCollection,
  { range }: FeedScope,
  { bodies, lsn }: IncrementalPage,
): RangeOutcome {
  const headers = { [HEADER.pkRangeId]: String(range.number) }
  const etag = positionEtag(lsn)
  if (bodies.length === 0) return { status: 304, charge: pageCharge(0), etag, lsn, headers }
  let chars = 0
  for (const body of bodies) chars += body.length
  return {
    status: 200,
    charge: pageCharge(chars),
    etag,
    lsn,
    headers: { ...headers, [HEADER.itemCount]: String(bodies.length) },
    body: listBody({ rid: record.rid, name: 'Documents' }, bodies),
  }
}

/** Reads; when there is nothing and the client is willing to wait, waits for a change and reads again. */
async function readWaiting(
  request: GatewayRequest,
  context: GatewayContext,
  { open, scope }: { readonly open: OpenCollection; readonly scope: FeedScope },
): Promise<IncrementalPage> {
  const { engine, record: collection } = open
  const start = requestedStart(request)
  const range = scope.keys
  const lsn = await startLsn(open, { range, start, mode: 'latestVersion' })
  let page = await readFrom(request, { open, scope, afterLsn: lsn })
  const deadlineMs = context.clock.monotonicMs() + waitTimeMs(request, context)
  const signal = AbortSignal.any([request.signal, request.draining])
  while (page.bodies.length === 0) {
    const timeoutMs = deadlineMs - context.clock.monotonicMs()
    if (timeoutMs <= 0 || signal.aborted) break
    const wait = { collection, range, afterLsn: page.lsn, timeoutMs, signal }
    const hasMore = await engine.waitForCommit(wait).catch((error: unknown) => {
      // A gateway that stops answers those who wait that there is nothing yet.
      if (request.draining.aborted && !request.signal.aborted) return false
      throw error
    })
    if (!hasMore) break
    page = await readFrom(request, { open, scope, afterLsn: page.lsn })
  }
  return page
}

/** One page; looks on through stretches where nothing is for this reader. */
async function readFrom(
  request: GatewayRequest,
  from: { readonly open: OpenCollection; readonly scope: FeedScope; readonly afterLsn: number },
): Promise<IncrementalPage> {
  const { open, scope } = from
  const { record: collection } = open
  const maxItems =
    itemCount(HEADER.maxItemCount, request.header(HEADER.maxItemCount)) ?? DEFAULT_FEED_ITEMS
  const { signal } = request
  const { keys: range, partitionKey } = scope
  let { afterLsn } = from
  for (;;) {
    if (open.turns.due) await open.turns.take()
    const query = { collection, range, afterLsn, maxItems, maxChars: MAX_FEED_CHARS, signal }
    const { rows, lsn, caughtUp } = await open.engine.readFeedPage(query)
    assertNotBeyond(afterLsn, lsn)
    const bodies: string[] = []
    for (const [, kind, body] of rows) {
      open.turns.spend(body.length)
      if (kind === LIVE_ROW) bodies.push(body)
    }
    const mine =
      partitionKey !== undefined && mayShareEpk(open, partitionKey)
        ? bodies.filter((body) => isOfPartitionKey(open, partitionKey, body))
        : bodies
    if (mine.length > 0 || caughtUp) return { bodies: mine, lsn }
    afterLsn = lsn
  }
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
