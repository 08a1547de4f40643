import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { startRedisServer } from '@tidemark/testing/servers'
import { openStore } from '../open-store.ts'
import { jsonLines, tidemark } from './commands/command-runner.child.ts'

test('PH-9 a job with its leases on Redis catches up; lag looks there, also where nothing is kept, and makes no group', async () => {
  await using redis = await startRedisServer()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-lag-'))
  const client = new Redis(redis.port, redis.host)
  const url = `redis://${redis.host}:${redis.port}`
  const lag = (group: string, ...args: readonly string[]) =>
    tidemark('lag', 'shop/orders', '--store', folder, '--leases', url, '--group', group, ...args)
  try {
    {
      await using store = await openStore({ folder, maintenance: 'manual' })
      const orders = await store
        .database('shop')
        .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 3 })
      for (let n = 0; n < 30; n += 1) await orders.upsert({ id: `o${n}` })
      const job = new ChangeFeedProcessorHost({
        hostName: 'job',
        group: 'mirror',
        feed: orders,
        leases: new RedisLeaseStore(client, { allowVolatile: true }),
        feedOptions: { startFromBeginning: true },
      })
      const run = await job.runUntilCaughtUp({ processChanges: () => {} }, { timeoutMs: 60_000 })
      expect(run.changes).toBe(30)
      for (let n = 0; n < 5; n += 1) await orders.upsert({ id: `late${n}` })
    }
    const { code, output } = await lag('mirror', '--warn', '5', '--json')
    expect(code).toBe(1)
    expect(jsonLines(output)).toMatchObject([{ remainingChanges: 5, isExact: true, hosts: [] }])
    expect(await lag('other')).toMatchObject({ code: 3, output: '' })
    const groups = await new RedisLeaseStore(client, { allowVolatile: true }).listGroups()
    expect(groups).toEqual(['mirror'])
    expect((await client.keys('*')).some((key) => key.includes('other'))).toBe(false)
  } finally {
    client.disconnect()
    await rm(folder, { recursive: true, force: true })
  }
})
