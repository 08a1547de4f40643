import { afterAll, beforeAll, expect, test } from 'vitest'
import { leaseStoreConformance, StoreTime } from '@tidemark/testing/conformance'
import { startRedisCluster, type RedisClusterServers } from '@tidemark/testing/servers'
import { RedisLeaseStore } from './redis-lease-store.ts'
import { TimedLeaseStore } from './testing.ts'

let servers: RedisClusterServers

beforeAll(async () => {
  servers = await startRedisCluster()
})
afterAll(() => servers.stop())

leaseStoreConformance({
  name: 'Redis Cluster, three masters',
  modelRuns: 30,
  timeGoesBack: true,
  async open() {
    const time = new StoreTime()
    const storeTimeUs = (): number => time.wallMs() * 1000
    const [one, two] = [servers.connect(), servers.connect()]
    return {
      store: new TimedLeaseStore(one, { storeTimeUs, allowVolatile: true }),
      other: new TimedLeaseStore(two, { storeTimeUs, allowVolatile: true }),
      time,
      async close() {
        one.disconnect()
        two.disconnect()
      },
    }
  },
})

test('groups are spread over the masters, each wholly on one', async () => {
  const client = servers.connect()
  const store = new RedisLeaseStore(client, { keyPrefix: 'spread:', allowVolatile: true })
  for (let index = 0; index < 30; index += 1) await store.openGroup(`group ${index}`)
  const keys = await Promise.all(servers.nodes.map(({ admin }) => admin.keys('spread:{*')))
  expect(keys.flat()).toHaveLength(30)
  for (const held of keys) expect(held.length).toBeGreaterThan(0)
  client.disconnect()
})
