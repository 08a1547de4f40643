import type { OrderedFeed } from './ordered-feed.ts'
import type { FeedPlace } from './order-tasks.ts'
import { SequenceFeed } from './sequence-feed.ts'
import { TidemarkFeed } from './tidemark-feed.ts'

/** Opens it, or makes it. */
export function openFeed({ feed, url }: FeedPlace): Promise<OrderedFeed> {
  return feed === 'tidemark' ? TidemarkFeed.open({ url, maintains: 'no' }) : SequenceFeed.open(url)
}
