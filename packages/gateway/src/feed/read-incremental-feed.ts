import { LIVE_ROW, feedVersion } from '@tidemark/contracts/internal'
import { feedDocumentText } from '../documents/document-text.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { MAX_FEED_CHARS, assertNotBeyond, feedItemCount } from './feed-limits.ts'
import { mayShareEpk, isOfPartitionKey } from './partition-key-filter.ts'
import { readFeed, type FeedFrom } from './read-feed.ts'
import type { PositionedPage } from './waiting-read.ts'

/**
 * GET …/docs with `A-IM: Incremental feed`: the newest versions, in the order of their changes. They go out as the
 * texts that the store keeps.
 */
export const readIncrementalFeed: Operation = (request, context) =>
  readFeed(request, context, { mode: 'latestVersion', read: readFrom })

async function readFrom(request: GatewayRequest, from: FeedFrom): Promise<PositionedPage> {
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
    for (const row of rows) {
      open.turns.spend(row[2].length)
      if (row[1] === LIVE_ROW) bodies.push(feedDocumentText(open.stamp, feedVersion(row)))
    }
    const items =
      partitionKey !== undefined && mayShareEpk(open, partitionKey)
        ? bodies.filter((body) => isOfPartitionKey(open, partitionKey, body))
        : bodies
    if (items.length > 0 || caughtUp) return { items, lsn, newestLsn }
    afterLsn = lsn
  }
}
