import type { ChangeFeedSource, LeaseStore } from '@tidemark/contracts'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import type { OrderDocument } from '../../../data/order-document.ts'
import { gatedFeed } from './gated-feed.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import type { TidemarkPlace } from './server.ts'

/** A host with the default options, but for the page's size and the time after which leases are taken over. */
export const join: JoinGroup<TidemarkPlace> = async ({ place, ...task }, handle) => {
  await using opening = new AsyncDisposableStack()
  const feed = await openFeed(place.open, opening)
  const leases = await openLeases(place, feed.leases, opening)
  const host = new ChangeFeedProcessorHost<OrderDocument>({
    hostName: `worker-${task.worker}-${process.pid}`,
    group: place.group,
    feed: gatedFeed(feed.orders, task.gate),
    leases,
    feedOptions: { startFromBeginning: place.startFromBeginning, maxItemCount: task.pageSize },
    hostOptions: {
      leaseExpirationIntervalMs: task.takeoverMs,
      leaseRenewIntervalMs: task.takeoverMs / 4,
      leaseAcquireIntervalMs: task.takeoverMs / 4,
    },
    logger: false,
  })
  let shares = 0
  host.on('leaseAcquired', () => shares++)
  host.on('leaseReleased', () => shares--)
  host.on('leaseLost', () => shares--)
  await host.registerObserver((_context, changes) => {
    handle(changes.flatMap((change) => (change.kind === 'document' ? [change.document] : [])))
  })
  const opened = opening.move()
  return {
    get shares() {
      return shares
    },
    async [Symbol.asyncDispose]() {
      await host.unregisterObservers()
      await opened[Symbol.asyncDispose]()
    },
  }
}

interface OpenedFeed {
  readonly orders: ChangeFeedSource<OrderDocument>
  readonly leases: LeaseStore
}

/** Loads what the place needs, so that a worker's memory has nothing else in it. */
async function openFeed(
  open: TidemarkPlace['open'],
  closing: AsyncDisposableStack,
): Promise<OpenedFeed> {
  if (open.kind === 'store') {
    const { openBenchStore } = await import('../../../store/open-bench-store.ts')
    const { orders, leases } = closing.use(await openBenchStore(open.place))
    return { orders, leases: new DocumentLeaseStore(leases) }
  }
  const { endpoint, key, database } = open
  const { CosmosConnection, CosmosDocumentCollection, openChangeFeed } =
    await import('@tidemark/gateway/client')
  const connection = new CosmosConnection({ endpoint, key })
  const leases = new CosmosDocumentCollection(connection, {
    database,
    container: 'leases',
  })
  const orders = await openChangeFeed<OrderDocument>(connection, {
    database,
    container: 'orders',
  })
  return { orders, leases: new DocumentLeaseStore(leases) }
}

async function openLeases(
  { leasesOnRedis }: TidemarkPlace,
  beside: LeaseStore,
  closing: AsyncDisposableStack,
): Promise<LeaseStore> {
  if (leasesOnRedis === undefined) return beside
  const [{ RedisLeaseStore }, { Redis }] = await Promise.all([
    import('@tidemark/lease-redis'),
    import('ioredis'),
  ])
  const redis = new Redis({ ...leasesOnRedis, maxRetriesPerRequest: null })
  closing.defer(() => redis.disconnect())
  return new RedisLeaseStore(redis)
}
