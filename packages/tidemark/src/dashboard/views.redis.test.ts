import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startRedisServer } from '@tidemark/testing/servers'
import { ChangeFeedProcessorHost, RedisLeaseStore } from '../index.ts'
import { write } from './mirrored-orders.fixture.ts'
import { OpenedPage } from './opened-page.fixture.ts'

test('groups with their leases on Redis are shown beside those of the store, with what hosts tell', async () => {
  await using redis = await startRedisServer()
  const client = new Redis({ host: redis.host, port: redis.port })
  try {
    const leases = new RedisLeaseStore(client, { allowVolatile: true })
    await using page = await OpenedPage.open({ leases })
    await write(page.store, 20)
    const failed = new Set<string>()
    const host = new ChangeFeedProcessorHost({
      hostName: 'worker-1',
      group: 'mirror',
      feed: page.store.database('shop').collection('orders'),
      leases,
      hostOptions: { leaseRenewIntervalMs: 200 },
      feedOptions: { startFromBeginning: true },
      logger: false,
    })
    await host.registerObserver({
      processChanges: ({ leaseId }) => {
        if (failed.has(leaseId)) return
        failed.add(leaseId)
        throw new Error('the first time')
      },
    })
    const [ref] = (await page.view('overview', {})).tables.groups
    expect(ref).toMatchObject({ leases: leases.description, group: 'mirror' })
    const query = { leases: leases.description, group: 'mirror' }
    const look = () => page.view('group', query)
    await expect.poll(async () => (await look()).head.changes, { timeout: 20_000 }).toBe(0)
    const summary = async () => (await look()).tables.hosts[0]?.summary
    await expect.poll(async () => (await summary())?.errors, { timeout: 20_000 }).toBe(4)
    expect(await summary()).toMatchObject({ lastError: 'the first time', halted: [] })
    const { head, tables } = await look()
    expect(head.durability).toMatch(/^[A-D]$/)
    expect(head.hasTimeline).toBe(true)
    expect(tables.timeline.filter(({ kind }) => kind === 'acquired')).toHaveLength(4)
    expect(tables.timeline[0]).toMatchObject({ from: null, to: 'worker-1' })
    await host.unregisterObservers()
  } finally {
    client.disconnect()
  }
})
