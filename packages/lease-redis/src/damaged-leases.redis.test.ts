import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { FULL_RANGE } from '@tidemark/contracts'
import { hostIdentity, leasePosition, newLeases, ownedGroup } from '@tidemark/testing/conformance'
import { startRedisServer } from '@tidemark/testing/servers'
import { RedisLeaseStore } from './redis-lease-store.ts'

const A = hostIdentity('a')

test('PH-4 a lease whose field was deleted or written over by hand is none: its owner is refused, and the set can be declared lost', async () => {
  await using server = await startRedisServer()
  const redis = new Redis(server.port, server.host)
  try {
    const store = new RedisLeaseStore(redis, { allowVolatile: true })
    const strikes: readonly ((key: string, id: string) => Promise<unknown>)[] = [
      (key, id) => redis.hdel(key, id),
      (key, id) => redis.hset(key, id, 'mine'),
      (key, id) => redis.hset(key, id, '-1|2|3|x'),
    ]
    for (const [index, strike] of strikes.entries()) {
      const name = `group ${index}`
      const group = await store.openGroup(name)
      const [first] = await ownedGroup(group, A, 4)
      const { leaseId, epoch } = first!
      await strike(`tidemark:leases:{${encodeURIComponent(name)}}:c`, leaseId)
      const { leases } = await group.read()
      expect(leases.map(({ id }) => id)).not.toContain(leaseId)
      expect(leases).toHaveLength(3)
      const checkpoints = [{ leaseId, epoch, checkpoint: leasePosition(9) }]
      expect(await group.checkpoint({ ...A, checkpoints })).toEqual(['lost'])
      expect(await group.acquire({ ...A, leaseIds: [leaseId] })).toEqual([])
      expect(await group.declareLost({ keys: [FULL_RANGE], generation: 'next' })).toBe(true)
      expect(await group.read()).toMatchObject({ generation: 'next', leases: [] })
      expect(await group.create(newLeases(4))).toHaveLength(4)
      await group.close()
    }
  } finally {
    redis.disconnect()
  }
})

test('a group of which all leases were deleted by hand is known to have had some, until it gets others or is discarded', async () => {
  await using server = await startRedisServer()
  const redis = new Redis(server.port, server.host)
  try {
    const group = await new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('group')
    expect((await group.read()).isEmptied).toBeUndefined()
    await group.create(newLeases(2))
    expect((await group.read()).isEmptied).toBeUndefined()
    await redis.del('tidemark:leases:{group}:c')
    expect(await group.read()).toMatchObject({ isEmptied: true, leases: [] })
    await group.create(newLeases(2))
    expect((await group.read()).isEmptied).toBeUndefined()
    await group.discard('x')
    expect(await group.read()).toMatchObject({ leases: [] })
    expect((await group.read()).isEmptied).toBeUndefined()
    await group.close()
  } finally {
    redis.disconnect()
  }
})

test('notes are kept also where somebody wrote over their numbers', async () => {
  await using server = await startRedisServer()
  const redis = new Redis(server.port, server.host)
  try {
    const group = await new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('group')
    await redis.hset('tidemark:leases:{group}:nt', { next: 'mine', 0: 'mine', x: '1|{}' })
    const counts = { changes: 0, batches: 0, changesPerS: 0, errors: 0, deadLetters: 0 }
    const summary = { host: 'a', atMs: 1, sinceMs: 1, ...counts, halted: [] }
    const transition = { atMs: 1, host: 'a', leaseId: '-FF', epoch: 1, kind: 'acquired' as const }
    const later = { ...transition, atMs: 2 }
    await group.note?.({ summary, transitions: [transition, later] })
    expect(await group.readTransitions?.()).toEqual([transition, later])
    await group.close()
  } finally {
    redis.disconnect()
  }
})

test('a group that an older release gave leases is known to have had some once its feed is noted', async () => {
  await using server = await startRedisServer()
  const redis = new Redis(server.port, server.host)
  try {
    const group = await new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('group')
    await group.create(newLeases(2))
    await redis.hdel('tidemark:leases:{group}:m', 'given')
    await group.claimFeed?.({ rid: 'rid', name: 'shop/orders' })
    expect((await group.read()).isEmptied).toBeUndefined()
    await redis.del('tidemark:leases:{group}:c')
    expect(await group.read()).toMatchObject({ isEmptied: true, leases: [] })
    await group.discard('x')
    await group.claimFeed?.({ rid: 'rid', name: 'shop/orders' })
    expect((await group.read()).isEmptied).toBeUndefined()
    await group.close()
  } finally {
    redis.disconnect()
  }
})
