import { startRedisCluster } from '@tidemark/testing/servers'
import { Cluster } from 'ioredis'
import { expect, test } from 'vitest'
import { contextOf, entryOf, type Order } from '../sync.fixture.ts'
import { redisCacheSink } from './redis-cache-sink.ts'
import { redisSortedSetSink } from './redis-sorted-set-sink.ts'

const SOURCE = { identity: 'store/rid', description: 'shop/orders' }

test('both work on a cluster, whichever slots their keys are in', async () => {
  await using servers = await startRedisCluster()
  const cluster = new Cluster([{ host: '127.0.0.1', port: servers.nodes[0]!.port }])
  cluster.on('error', () => {})
  try {
    const entries = Array.from({ length: 50 }, (_, n) => entryOf(`o${n}`, { lsn: 1, total: n }))
    const cached = redisCacheSink<Order>({ redis: cluster, prefix: 'orders:' })
    const scored = redisSortedSetSink<Order>({
      redis: cluster,
      key: 'board',
      score: ({ total }) => total,
    })
    for (const sink of [cached, scored]) {
      await sink.open!(SOURCE, {})
      await sink.write(entries, contextOf())
    }
    expect(await cluster.zcard('board')).toBe(50)
    expect(JSON.parse((await cluster.hget('orders:["c"]:o7', 'json'))!)).toMatchObject({
      total: 7,
    })
  } finally {
    cluster.disconnect()
  }
})
