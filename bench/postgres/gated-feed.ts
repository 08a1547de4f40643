import type { ChangeFeedSource } from '@tidemark/contracts'
import type { OrderDocument } from '../data/order-document.ts'

/**
 * A feed whose pages wait for `gate`, so that hosts can share out its ranges before the first of them reads: what is
 * measured is how they drain, not how they find each other.
 */
export function gatedFeed(
  feed: ChangeFeedSource<OrderDocument>,
  gate: Promise<void>,
): ChangeFeedSource<OrderDocument> {
  return {
    identity: feed.identity,
    description: feed.description,
    supports: feed.supports,
    positions: feed.positions,
    readFeedRanges: (options) => feed.readFeedRanges(options),
    resolveStart: (request) => feed.resolveStart(request),
    async readPage(request) {
      await opened(gate, request.signal)
      return feed.readPage(request)
    },
    ...(feed.waitForChanges !== undefined && {
      waitForChanges: (request) => feed.waitForChanges?.(request) ?? Promise.resolve(false),
    }),
    ...(feed.joinPositions !== undefined && {
      joinPositions: async (request) => feed.joinPositions?.(request),
    }),
  }
}

async function opened(gate: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    await Promise.race([gate, aborted])
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
