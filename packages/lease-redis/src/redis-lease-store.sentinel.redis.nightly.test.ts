import type { LeaseGroup } from '@tidemark/contracts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  hostIdentity,
  leasePosition,
  leaseStoreConformance,
  ownedGroup,
  StoreTime,
  syncRequest,
} from '@tidemark/testing/conformance'
import { startSentinelSet, type SentinelSet } from '@tidemark/testing/servers'
import { RedisLeaseStore } from './redis-lease-store.ts'
import { TimedLeaseStore } from './testing.ts'

let servers: SentinelSet

beforeAll(async () => {
  servers = await startSentinelSet()
})
afterAll(() => servers.stop())

leaseStoreConformance({
  name: 'Redis behind Sentinels',
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

test('a fail-over keeps the leases, expires nobody, and goes on', async () => {
  const client = servers.connect()
  const open = (commandTimeoutMs: number): Promise<LeaseGroup> =>
    new RedisLeaseStore(client, { commandTimeoutMs, allowVolatile: true }).openGroup('fail-over')
  const patience = { timeout: 30_000, interval: 50 }
  const group = await open(patience.timeout)
  // For calls that are to be given up.
  const hasty = await vi.waitFor(() => open(500), patience)
  const host = hostIdentity('a')
  const held = await ownedGroup(group, host, 5)
  const checkpointAt = (value: number): Promise<readonly string[]> =>
    group.checkpoint({
      ...host,
      checkpoints: held.map((lease) => ({ ...lease, checkpoint: leasePosition(value) })),
    })
  await checkpointAt(7)
  await client.wait(2, 5_000)
  const before = await group.read()
  const primary = await servers.primary()
  await primary.kill()
  const beat = syncRequest(host, 'beat')
  await expect(hasty.sync(beat)).rejects.toMatchObject({
    code: 'ERR_LEASE_STORE_UNAVAILABLE',
    retryable: true,
  })
  const beaten = await vi.waitFor(() => hasty.sync(beat), patience)
  // The Sentinel that is asked may hear of it a moment after the client did.
  await expect.poll(() => servers.primary()).not.toBe(primary)
  expect(beaten).toMatchObject({ kind: 'ok', membershipVersion: before.membershipVersion })
  const after = await group.read()
  expect(after.generation).toBe(before.generation)
  expect(after.hosts).toMatchObject([host])
  expect(after.leases.map(({ checkpoint }) => checkpoint.lsn)).toEqual([7, 7, 7, 7, 7])
  expect(new Set(await checkpointAt(8))).toEqual(new Set(['stored']))
  client.disconnect()
})
