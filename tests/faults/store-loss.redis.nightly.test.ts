import { feedRangeId } from '@tidemark/contracts'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { freePort } from '@tidemark/testing/servers'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { dispatchesPast, repeatedBeyondTwoBatches, staleDispatches } from './check-history.ts'
import { FaultStage, openLeases, untilShared } from './fault-stage.ts'
import type { Order } from './feed-store.ts'
import { machineMs } from './history.ts'
import { FAULT_TIMES, type HostProcess } from './host-process.ts'
import { PacedWriter } from './paced-writer.ts'
import { until } from './until.ts'

const RANGES = 8
const TTL_MS = FAULT_TIMES.expirationMs

test('PH-10 LE-14 a lease store that cannot be reached at start is a coded error', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  const redis = new Redis({ port: await freePort(), retryStrategy: () => 50 })
  redis.on('error', () => {})
  const host = new ChangeFeedProcessorHost<Order>({
    hostName: 'early',
    group: 'faults',
    feed: stage.store.orders,
    leases: new RedisLeaseStore(redis, { allowVolatile: true }),
    hostOptions: { startTimeoutMs: 1_000, leaseStoreTimeoutMs: 400 },
  })
  let dispatched = 0
  await expect(
    host.registerObserver({ processChanges: () => void dispatched++ }),
  ).rejects.toMatchObject({ code: 'ERR_LEASE_STORE_UNAVAILABLE' })
  await host.unregisterObservers()
  expect(dispatched).toBe(0)
  redis.disconnect()
})

test('PH-10 a lease store that goes away and comes back: hosts stop by their deadline, recover by themselves, and nothing is lost', async () => {
  // Every write reaches the disk: the server that comes back knows all that it acknowledged.
  const redisArgs = ['--appendonly', 'yes', '--appendfsync', 'always']
  await using stage = await FaultStage.open({ ranges: RANGES, redisArgs })
  const hosts = [await stage.start('a'), await stage.start('b')]
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 300)
  await until(() => hosts.every((host) => host.entries('dispatch').length > 10), {
    what: 'both process',
  })

  await stage.redis.kill('SIGKILL')
  const lostAt = machineMs()
  await until(() => hosts.every((host) => host.eventsNamed('fenced').length > 0), {
    what: 'both fence themselves',
  })
  for (const host of hosts) {
    expect(host.eventsNamed('leaseStoreUnavailable').length).toBeGreaterThan(0)
    await until(() => openLeases(host).size === 0, { what: 'closed' })
  }
  expect(stage.redis.running).toBe(false)
  await stage.redis.start()

  await untilShared(hosts, RANGES)
  const written = await writer.stop()
  await stage.untilDelivered(written)
  for (const host of hosts) {
    expect(host.eventsNamed('leaseStoreRecovered').length).toBeGreaterThan(0)
    expect(
      dispatchesPast(host.history, { openedBeforeMs: lostAt, deadlineMs: lostAt + TTL_MS }),
    ).toEqual([])
  }
  expect(staleDispatches(stage.histories())).toEqual([])
})

test('PH-10 a lease store that hangs for less than a session costs no lease', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  // Long, so that a busy machine does not add to the pause what makes it longer than the session.
  const host = await stage.start('a', { expirationMs: 8_000 })
  await untilShared([host], RANGES)
  const writer = new PacedWriter(stage.store, 300)
  const opens = host.entries('open').length
  const before = await commandsProcessed(stage)

  stage.redis.pause()
  // The fault is felt: calls go without an answer.
  await until(() => host.eventsNamed('leaseStoreUnavailable').length > 0, {
    what: 'a call that is not answered',
  })
  stage.redis.resume()
  const written = await writer.stop()
  await stage.untilDelivered(written)

  expect(await commandsProcessed(stage)).toBeGreaterThan(before)
  expect(host.eventsNamed('fenced')).toEqual([])
  expect(host.entries('open')).toHaveLength(opens)
})

test('PH-4 I1 FLUSHALL under running hosts: leases are made anew when every session is over, and two batches of each range come again at most', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  // A host that stood still for a whole session would not be the one who knows best where its leases stood.
  const times = { expirationMs: 10_000 }
  const hosts = await Promise.all(['a', 'b', 'c'].map((name) => stage.start(name, times)))
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 150)
  await untilBusy(hosts)

  // Read before the loss: this process may have to wait after it, while the hosts already count.
  const lostAt = machineMs()
  await stage.redis.admin.flushall()
  await until(() => hosts.every((host) => host.eventsNamed('recovered').length > 0), {
    what: 'every host has recovered',
  })
  await untilShared(hosts, RANGES)
  const written = await writer.stop()
  await stage.untilDelivered(written)

  for (const host of hosts) {
    expect(host.eventsNamed('leaseStoreLost')).toHaveLength(1)
    expect(host.eventsNamed('stopped')).toEqual([])
    // Nobody got a lease while another host might have worked on it still.
    const opened = host.entries('open').filter(({ atMs }) => atMs > lostAt)
    expect(opened.length).toBeGreaterThan(0)
    expect(Math.min(...opened.map(({ atMs }) => atMs))).toBeGreaterThan(lostAt + times.expirationMs)
  }
  expect(staleDispatches(stage.histories())).toEqual([])
  // What was stored before the loss was told to the feed by its live owner.
  expect(repeatedBeyondTwoBatches(stage.histories())).toEqual([])
})

test('PH-4 the store and all hosts die, and it comes back empty: only what the feed had not been told comes again', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  const hosts = [await stage.start('a'), await stage.start('b')]
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 150)
  await untilBusy(hosts)
  const { positions } = stage.store.orders
  const lowest = async (): Promise<number> =>
    Math.min(...(await positions.read('faults')).map(({ lsn }) => lsn))
  await expect.poll(lowest).toBeGreaterThan(0)

  await stage.redis.kill('SIGKILL')
  await Promise.all(hosts.map((host) => host.kill()))
  const told = await positions.read('faults')
  await stage.redis.start()
  expect(await stage.redis.admin.dbsize()).toBe(0)

  const late = await stage.start('late')
  const written = await writer.stop()
  await stage.untilDelivered(written)
  expect(late.eventsNamed('leaseStoreLost')).toHaveLength(1)
  expect(late.eventsNamed('recovered')).toHaveLength(1)
  const below = late.entries('dispatch').filter(({ lease, lsns }) => {
    const position = told.find(({ range }) => feedRangeId(range) === lease)
    return position === undefined || lsns.some((lsn) => lsn <= position.lsn)
  })
  expect(below).toEqual([])
  expect(staleDispatches(stage.histories())).toEqual([])
})

/** The fault is to hit hosts that are at work, and have told the feed of it. */
async function untilBusy(hosts: readonly HostProcess[]): Promise<void> {
  await until(() => hosts.every((host) => host.entries('dispatch').length > 20), {
    what: 'all process',
  })
}

async function commandsProcessed({ redis }: FaultStage): Promise<number> {
  const info = await redis.admin.info('stats')
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1])
}
