import { afterAll, beforeAll } from 'vitest'
import { leaseStoreConformance, StoreTime } from '@tidemark/testing/conformance'
import { startRedisServer, type RedisServer } from '@tidemark/testing/servers'
import { Redis } from 'ioredis'
import { RedisLeaseStore } from './redis-lease-store.ts'

let server: RedisServer

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(() => server.stop())

leaseStoreConformance({
  name: 'Redis, one server',
  modelRuns: 200,
  timeGoesBack: true,
  async open() {
    const time = new StoreTime()
    const storeTimeUs = (): number => time.wallMs() * 1000
    const clients = [1, 2].map(() => new Redis({ port: server.port, host: server.host }))
    const [store, other] = clients.map(
      (redis) => new RedisLeaseStore(redis, { storeTimeUs, allowVolatile: true }),
    )
    if (store === undefined || other === undefined) throw new Error('two clients were made')
    return {
      store,
      other,
      time,
      close: async () => clients.forEach((redis) => redis.disconnect()),
    }
  },
})
