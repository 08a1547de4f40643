import { LIVE_ROW } from '@tidemark/store/engine'
import type { OpenCollection } from '@tidemark/store'
import { feedDocumentText } from '../documents/document-text.ts'
import { inRange } from '../documents/key-scope.ts'
import { assertSession } from '../documents/session-check.ts'
import { collectionNames } from '../resources/resource-names.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { feedOutcome } from './feed-outcome.ts'
import { MAX_FEED_CHARS, assertNotBeyond, feedItemCount } from './feed-limits.ts'
import { feedScope, type FeedScope } from './feed-scope.ts'
import { requestedStart, startLsn } from './feed-start.ts'
import { mayShareEpk, isOfPartitionKey } from './partition-key-filter.ts'
import { readUntilChange, type PositionedPage } from './waiting-read.ts'

/**
 * GET …/docs with `A-IM: Incremental feed`: the newest versions, in the order of their changes. They go out as the
 * texts that the store keeps.
 */
export const readIncrementalFeed: Operation = async (request, context) =>
  context.collections.use(collectionNames(request.path), async ({ open }) => {
    const scope = await feedScope(request, context, open)
    const { range } = scope
    return inRange(request, context, { open, range }, async () => {
      await assertSession(request, context, { open, ranges: [range], keys: scope.keys })
      const start = requestedStart(request)
      const mode = 'latestVersion'
      const afterLsn = await startLsn(open, { range: scope.keys, start, mode })
      const read = (after: number): Promise<PositionedPage> =>
        readFrom(request, { open, scope, afterLsn: after })
      const page = await readUntilChange(request, context, { open, scope, afterLsn, read })
      return feedOutcome(open, range, page)
    })
  })

/** One page; looks on through stretches where nothing is for this reader. */
async function readFrom(
  request: GatewayRequest,
  from: { readonly open: OpenCollection; readonly scope: FeedScope; readonly afterLsn: number },
): Promise<PositionedPage> {
  const { open, scope } = from
  const { record: collection } = open
  const maxItems = feedItemCount(request)
  const { signal } = request
  const { keys: range, partitionKey } = scope
  let { afterLsn } = from
  for (;;) {
    if (open.turns.due) await open.turns.take()
    const query = { collection, range, afterLsn, maxItems, maxChars: MAX_FEED_CHARS, signal }
    const { rows, lsn, newestLsn, caughtUp } = await open.engine.readFeedPage(query)
    assertNotBeyond(afterLsn, lsn)
    const bodies: string[] = []
    for (const [, kind, body] of rows) {
      open.turns.spend(body.length)
      if (kind === LIVE_ROW) bodies.push(feedDocumentText(body))
    }
    const items =
      partitionKey !== undefined && mayShareEpk(open, partitionKey)
        ? bodies.filter((body) => isOfPartitionKey(open, partitionKey, body))
        : bodies
    if (items.length > 0 || caughtUp) return { items, lsn, newestLsn }
    afterLsn = lsn
  }
}
