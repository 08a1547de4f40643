import { Redis } from 'ioredis'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { Store } from '@tidemark/store'

/* What a bundle has to find: the writer's thread, the threads of observers, the scripts of Redis. */

async function main([
  folder = '',
  observer = '',
  redisPort = '',
]: readonly string[]): Promise<void> {
  const store = await Store.open({
    engine: await openSqliteEngine({ folder, durability: 'relaxed' }),
  })
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  await orders.upsert({ id: 'o1' })
  const host = new ChangeFeedProcessorHost({
    hostName: 'bundled',
    group: 'bundled',
    feed: orders,
    leases: new DocumentLeaseStore(shop.collection('leases')),
    feedOptions: { startFromBeginning: true },
  })
  const { changes } = await host.runUntilCaughtUp({ observerModule: observer, threads: 1 })
  await store.close()
  const redis = new Redis({ port: Number(redisPort) })
  const group = await new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('bundled')
  const { leases } = await group.read()
  redis.disconnect()
  process.stdout.write(`${changes} change, ${leases.length} leases\n`)
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
})
