import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { FULL_RANGE, type HostIdentity, type LeaseGroup, type NewLease } from '@tidemark/contracts'
import { hostIdentity, leasePosition, newLeases, syncRequest } from '@tidemark/testing/conformance'
import { startRedisServer, type RedisServer } from '@tidemark/testing/servers'
import { RedisLeaseStore } from './redis-lease-store.ts'

/* What the server sends of the leases of a group, and when it sends them again. */

const [A, B, OLD] = [hostIdentity('a'), hostIdentity('b'), hostIdentity('old')]
const LEASES = 256
const TAG = 'tidemark:leases:{many}'

let server: RedisServer
let connections: Redis[]
/** Characters of the answers to scripts so far. */
let received = 0

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.admin.flushall()
  received = 0
  connections = []
  return () => connections.forEach((redis) => redis.disconnect())
})

/** A handle of its own, as each process has. */
async function open(): Promise<LeaseGroup> {
  const redis = new Redis(server.port, server.host)
  connections.push(redis)
  const count = async (sent: Promise<unknown>): Promise<unknown> => {
    const reply = await sent
    received += JSON.stringify(reply).length
    return reply
  }
  const [evalsha, evaluate] = [redis.evalsha.bind(redis), redis.eval.bind(redis)]
  Object.assign(redis, {
    evalsha: (...args: Parameters<Redis['evalsha']>) => count(evalsha(...args)),
    eval: (...args: Parameters<Redis['eval']>) => count(evaluate(...args)),
  })
  return new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('many')
}

async function receivedBy(call: () => Promise<unknown>): Promise<number> {
  const before = received
  await call()
  return received - before
}

/** Of one group, everything: by a handle that knows nothing. */
async function sizeOfAll(): Promise<number> {
  const stranger = await open()
  return receivedBy(() => stranger.read())
}

async function planFor(group: LeaseGroup, { host }: HostIdentity): Promise<void> {
  const { membershipVersion, leases: present } = await group.read()
  const targets = new Map(present.map(({ id }) => [id, host]))
  expect(await group.plan({ membershipVersion, targets })).toBe(true)
}

test('hosts that start together on a new group get its leases once altogether, not once a call', async () => {
  const hosts = await Promise.all([open(), open(), open(), open()])
  const leases = newLeases(LEASES)
  await Promise.all(hosts.map((group) => group.read()))
  received = 0
  const made = await Promise.all(hosts.map((group) => group.create(leases)))
  for (const set of made) expect(set).toEqual(made[0])
  for (const [index, group] of hosts.entries()) {
    await group.sync(syncRequest(hostIdentity(`host ${index}`), 'join'))
    for (const other of hosts) expect((await other.read()).leases).toEqual(made[0])
  }
  // Each knows what it made; who came later than another finds the same.
  const withoutLeases = received
  expect(withoutLeases).toBeLessThan(await sizeOfAll())
})

test('a host that made other leases than those that are there gets these', async () => {
  const [one, two] = [await open(), await open()]
  const leases = newLeases(4)
  await one.create(leases)
  const others = leases.map((lease): NewLease => ({ ...lease, checkpoint: leasePosition(5) }))
  expect(await two.create(others)).toEqual((await one.read()).leases)
  expect((await two.read()).leases[0]?.checkpoint).toEqual(leasePosition(0))
})

test('what changed is read by those who know what was before, and by nobody twice', async () => {
  const [one, two] = [await open(), await open()]
  await one.create(newLeases(LEASES))
  await one.sync(syncRequest(A, 'join'))
  const all = await sizeOfAll()
  await two.read()
  expect(await receivedBy(() => two.read())).toBeLessThan(all / 10)
  await planFor(one, A)
  const planned = await receivedBy(() => two.read())
  expect(planned).toBeLessThan((await sizeOfAll()) / 2)
  const leaseIds = (await two.read()).leases.map(({ id }) => id)
  const acquired = await one.acquire({ ...A, leaseIds })
  expect((await two.read()).leases).toEqual(acquired.map(({ lease }) => lease))
  const [first] = acquired
  if (first === undefined) throw new Error('a lease was acquired')
  const checkpoints = [{ ...first, checkpoint: leasePosition(9) }]
  await one.checkpoint({ ...A, checkpoints })
  expect((await two.read()).leases[0]?.checkpoint).toEqual(leasePosition(9))
  await one.release({ ...A, releases: [first] })
  expect((await two.read()).leases[0]?.owner).toBeUndefined()
  expect((await two.read()).leases).toEqual((await (await open()).read()).leases)
})

test('two reads at the same time answer the same, also when both bring news', async () => {
  const group = await open()
  await group.create(newLeases(4))
  await group.sync(syncRequest(A, 'join'))
  await planFor(group, A)
  const stranger = await open()
  const [one, two] = await Promise.all([stranger.read(), stranger.read()])
  expect(one.leases).toHaveLength(4)
  expect(two.leases).toEqual(one.leases)
})

test('a lease that was deleted is missed at once; one that was written over when its owner is refused, or a digest differs', async () => {
  const group = await open()
  await group.create(newLeases(4))
  await group.sync(syncRequest(A, 'join'))
  await planFor(group, A)
  const { leases } = await group.read()
  const acquired = await group.acquire({ ...A, leaseIds: leases.map(({ id }) => id) })
  const [deleted, refused, judged] = acquired
  if (deleted === undefined || refused === undefined || judged === undefined) {
    throw new Error('leases were acquired')
  }
  const read = async (): Promise<number> => (await group.read()).leases.length
  expect(await read()).toBe(4)
  await server.admin.hdel(`${TAG}:c`, deleted.leaseId)
  expect(await read()).toBe(3)
  await server.admin.hset(`${TAG}:c`, refused.leaseId, 'mine')
  const checkpoints = [{ ...refused, checkpoint: leasePosition(9) }]
  expect(await group.checkpoint({ ...A, checkpoints })).toEqual(['lost'])
  expect(await read()).toBe(2)
  await server.admin.hset(`${TAG}:c`, judged.leaseId, 'mine')
  const held = { count: 2, epochSum: 0, lsnSum: 0 }
  const beat = { ...syncRequest(A, 'beat'), held, keys: [FULL_RANGE] }
  expect(await group.sync(beat)).toMatchObject({ heldMatches: false })
  expect(await read()).toBe(1)
})

test('while a host of an older release is there, which gives no names, everything is read', async () => {
  const [group, other] = [await open(), await open()]
  await group.create(newLeases(4))
  await group.sync(syncRequest(A, 'join'))
  const { leases } = await other.read()
  const lsns = async (): Promise<number[]> =>
    (await other.read()).leases.map(({ checkpoint }) => checkpoint.lsn)
  const stored = Object.entries(await server.admin.hgetall(`${TAG}:c`))
  // As the scripts of that release write it.
  const move = (at: number, lsn: number): Promise<unknown> => {
    const id = leases[at]?.id ?? ''
    const [, text = ''] = stored.find(([name]) => name === id) ?? []
    return server.admin.hset(`${TAG}:c`, id, text.replace(/^\d+/, String(lsn)))
  }
  const { host, incarnation } = OLD
  await server.admin.zadd(`${TAG}:hd`, 1_000_000, host)
  await server.admin.hset(`${TAG}:hi`, host, incarnation)
  await server.admin.hset(`${TAG}:hx`, host, (await server.admin.hvals(`${TAG}:hx`))[0] ?? '')
  await server.admin.hset(`${TAG}:hb`, host, '1')
  await server.admin.hincrby(`${TAG}:m`, 'mv', 1)
  await move(0, 5)
  expect(await lsns()).toEqual([5, 0, 0, 0])
  await group.sync(syncRequest(B, 'join'))
  expect(await lsns()).toEqual([5, 0, 0, 0])
  await move(1, 6)
  expect(await lsns()).toEqual([5, 6, 0, 0])
  // It leaves, and others have joined since.
  await move(2, 7)
  for (const key of ['hi', 'hx', 'hb']) await server.admin.hdel(`${TAG}:${key}`, host)
  await server.admin.zrem(`${TAG}:hd`, host)
  await server.admin.hincrby(`${TAG}:m`, 'mv', 1)
  await group.sync(syncRequest(B, 'leave'))
  expect(await lsns()).toEqual([5, 6, 7, 0])
  const all = await sizeOfAll()
  expect(await receivedBy(() => other.read())).toBeLessThan(all / 2)
})

test('a server that went back to what it was knows no name of what came after', async () => {
  const [group, other] = [await open(), await open()]
  await group.create(newLeases(4))
  await group.sync(syncRequest(A, 'join'))
  await planFor(group, A)
  const before = await Promise.all(
    ['m', 'o', 'c', 't'].map((key) => server.admin.dumpBuffer(`${TAG}:${key}`)),
  )
  const { leases } = await other.read()
  const leaseIds = leases.map(({ id }) => id)
  await group.acquire({ ...A, leaseIds })
  const owners = async (): Promise<number> =>
    (await other.read()).leases.filter(({ owner }) => owner !== undefined).length
  expect(await owners()).toBe(4)
  for (const [index, key] of ['m', 'o', 'c', 't'].entries()) {
    await server.admin.del(`${TAG}:${key}`)
    const dump = before[index]
    if (dump) await server.admin.restore(`${TAG}:${key}`, 0, dump)
  }
  await group.acquire({ ...A, leaseIds: leaseIds.slice(0, 1) })
  expect(await owners()).toBe(1)
})
