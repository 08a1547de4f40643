import { systemClock, type LeaseDurability } from '@tidemark/contracts'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { FakeFeed } from '@tidemark/testing'
import { startRedisProcess } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'

test('PH-10 a host does not start on a lease store that keeps nothing, and tells once how durable another is', async () => {
  await using redis = await startRedisProcess()
  const told: LeaseDurability[] = []
  const start = async (): Promise<void> => {
    const host = new ChangeFeedProcessorHost({
      hostName: 'a',
      group: 'durable',
      feed: new FakeFeed({ clock: systemClock }),
      leases: new RedisLeaseStore(redis.admin),
    })
    host.on('leaseStoreDurability', (durability) => told.push(durability))
    try {
      await host.registerObserver({ processChanges: () => {} })
    } finally {
      await host.unregisterObservers()
    }
  }
  await expect(start()).rejects.toMatchObject({ code: 'ERR_LEASE_STORE_VOLATILE' })
  expect(told).toEqual([])
  expect(await redis.admin.keys('*')).toEqual([])
  await redis.admin.config('SET', 'appendonly', 'yes')
  await start()
  expect(told).toMatchObject([{ level: 'C' }])
})
