import { Redis } from 'ioredis'
import { Pool } from 'pg'
import {
  DocumentLeaseStore,
  openStore,
  postgresSink,
  redisCacheSink,
  syncTo,
  webhookSink,
  type Sink,
} from 'tidemark'
import type { Order, SyncMessage, SyncTask } from './sync-task.ts'

/*
 * A worker of three syncs of one collection, each batch of which it tells, until it is killed. Told "finish", it ends
 * when all of them have caught up.
 */

const task = JSON.parse(process.argv[2] ?? '') as SyncTask
const told = new Promise((resolve) => process.once('message', resolve))

await using store = await openStore(task.folder)
const shop = store.database('shop')
const orders = shop.collection<Order>('orders')
const leases = new DocumentLeaseStore(shop.collection('leases'))
const pool = new Pool({ connectionString: task.postgresUrl })
pool.on('error', () => {})
const redis = new Redis(task.redisUrl, { retryStrategy: () => 20, maxRetriesPerRequest: 2 })
redis.on('error', () => {})

const sinks: Readonly<Record<string, Sink>> = {
  table: postgresSink({ pool, table: 'orders' }),
  cache: redisCacheSink({ redis, prefix: 'orders:', key: ({ id }) => id }),
  hook: webhookSink({ url: task.hookUrl, secret: task.secret }),
}
const syncs = Object.entries(sinks).map(([group, sink]) =>
  syncTo({
    feed: orders,
    sink,
    group,
    leases,
    deletes: group === 'hook' ? 'ignore' : 'apply',
    feedOptions: { maxItemCount: 7 },
    hostOptions: { leaseRenewIntervalMs: 200, leaseExpirationIntervalMs: 2_000 },
    onEvent: ({ kind }) => {
      if (kind === 'written') process.send?.({ kind: 'written' } satisfies SyncMessage)
    },
  }),
)
for (const sync of syncs) await sync.start()
await told
for (const sync of syncs) await sync.caughtUp()
for (const sync of syncs) await sync.stop()
await pool.end()
redis.disconnect()
process.disconnect()
