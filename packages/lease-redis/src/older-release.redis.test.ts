import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostIdentity, leasePosition, ownedGroup, syncRequest } from '@tidemark/testing/conformance'
import { startRedisServer, type RedisServer } from '@tidemark/testing/servers'
import { RedisLeaseStore } from './redis-lease-store.ts'

const A = hostIdentity('a')
const TAG = 'tidemark:leases:{old}'

let server: RedisServer

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(() => server.stop())

test('what a host of an older release stored is read: no pause, no standby, no refusals, no attempts', async () => {
  const group = await new RedisLeaseStore(server.admin, { allowVolatile: true }).openGroup('old')
  const [lease] = await ownedGroup(group, A, 1)
  if (lease === undefined) throw new Error('a lease was acquired')
  const { continuation, lsn } = leasePosition(7)
  const profile = '{"weight":1,"minLeases":0,"maxLeases":null,"leaving":false}'
  const stored = await server.admin.hget(`${TAG}:c`, lease.leaseId)
  const [, changedMs, version] = stored?.split('|') ?? []
  await server.admin.hset(`${TAG}:c`, lease.leaseId, `7|${changedMs}|${version}|${continuation}`)
  await server.admin.hset(`${TAG}:hx`, 'a', profile)
  expect(await server.admin.hexists(`${TAG}:m`, 'paused')).toBe(0)
  const before = await group.read()
  expect(before.paused).toBe(false)
  expect(before.leases[0]?.checkpoint).toEqual({ continuation, lsn })
  expect(before.hosts[0]?.profile).toEqual({
    weight: 1,
    minLeases: 0,
    maxLeases: Infinity,
    leaving: false,
  })
  // Its successor of this release, with the defaults, is the same member.
  const beat = syncRequest(A, 'beat')
  const request = { ...beat, profile: { ...beat.profile, standby: false, refuses: [] } }
  expect(await group.sync(request)).toMatchObject({ membershipVersion: before.membershipVersion })
  expect(await server.admin.hget(`${TAG}:hx`, 'a')).toBe(profile)
})

test('a position whose attempts nobody can read counts all the same', async () => {
  const group = await new RedisLeaseStore(server.admin, { allowVolatile: true }).openGroup('odd')
  const [lease] = await ownedGroup(group, A, 1)
  if (lease === undefined) throw new Error('a lease was acquired')
  const checkpoint = { ...leasePosition(7), attempts: { count: NaN, size: 1.5 } }
  const checkpoints = [{ leaseId: lease.leaseId, epoch: lease.epoch, checkpoint }]
  expect(await group.checkpoint({ ...A, checkpoints })).toEqual(['stored'])
  expect((await group.read()).leases[0]?.checkpoint).toEqual(leasePosition(7))
})
