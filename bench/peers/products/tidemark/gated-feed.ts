import type { ChangeFeedSource } from '@tidemark/contracts'
import type { OrderDocument } from '../../../data/order-document.ts'

/**
 * A feed whose pages wait for `gate`, so that hosts can share out its ranges before the first of them reads: what is
 * measured is how they drain, not how they find each other.
 */
export function gatedFeed(
  feed: ChangeFeedSource<OrderDocument>,
  gate: Promise<void>,
): ChangeFeedSource<OrderDocument> {
  let isOpen = false
  void gate.then(() => {
    isOpen = true
  })
  const readPage: typeof feed.readPage = async (request) => {
    if (!isOpen) await opened(gate, request.signal)
    return feed.readPage(request)
  }
  // Whatever else a feed has stays visible to hosts.
  return new Proxy(feed, {
    get(target, name): unknown {
      if (name === 'readPage') return readPage
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
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
