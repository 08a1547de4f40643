import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startRedisCluster, startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import { Cluster, Redis } from 'ioredis'
import { RedisLeaseStore, type RedisLeaseStoreOptions } from './redis-lease-store.ts'

const VOLATILE = { code: 'ERR_LEASE_STORE_VOLATILE', retryable: false }

let server: RedisProcess

beforeAll(async () => {
  server = await startRedisProcess()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await set({ appendonly: 'no', appendfsync: 'everysec', save: '' })
  await set({ 'min-replicas-to-write': '0', maxmemory: '0', 'maxmemory-policy': 'noeviction' })
})

async function set(settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await server.admin.config('SET', name, value)
  }
}

function store(options: RedisLeaseStoreOptions = {}): RedisLeaseStore {
  return new RedisLeaseStore(server.admin, options)
}

/** A connection of a user who may do everything but what is listed. */
async function without(...commands: readonly string[]): Promise<Redis> {
  const rights = ['on', 'nopass', '~*', '&*', '+@all', ...commands.map((name) => `-${name}`)]
  await server.admin.call('ACL', 'SETUSER', 'worker', 'reset', ...rights)
  const redis = new Redis({
    host: server.host,
    port: server.port,
    username: 'worker',
    password: 'any',
    enableReadyCheck: false,
  })
  redis.on('error', () => {})
  return redis
}

test.each([
  ['A', { appendonly: 'yes', appendfsync: 'always' }],
  ['B', { appendonly: 'yes', 'min-replicas-to-write': '1' }],
  ['C', { appendonly: 'yes' }],
  // As a server is that nobody has set up.
  ['C', { save: '3600 1' }],
] as const)('a server of level %s is told of, and groups are opened', async (level, settings) => {
  await set(settings)
  expect(await store().readDurability()).toMatchObject({ level })
  // The guard of level B lets nobody write while the replica is away.
  await set({ 'min-replicas-to-write': '0' })
  await expect(store().openGroup(`level ${level}`)).resolves.toBeDefined()
})

test('level D is refused with what to set, and changes nothing; allowVolatile opens it', async () => {
  await server.admin.flushall()
  const opening = store().openGroup('kept in memory')
  await expect(opening).rejects.toMatchObject(VOLATILE)
  await expect(opening).rejects.toThrow(/level D.*appendonly no.*Set appendonly yes.*allowVolatile/)
  expect(await server.admin.keys('*')).toEqual([])
  expect((await store().readDurability()).level).toBe('D')
  await expect(store({ allowVolatile: true }).openGroup('kept in memory')).resolves.toBeDefined()
})

test('a server that may evict leases is refused, however often it writes to disk', async () => {
  await set({ appendonly: 'yes', appendfsync: 'always' })
  await set({ maxmemory: '1gb', 'maxmemory-policy': 'allkeys-lru' })
  await expect(store().openGroup('evicted')).rejects.toThrow(/maxmemory-policy allkeys-lru/)
  await expect(store().openGroup('evicted')).rejects.toMatchObject(VOLATILE)
  await set({ 'maxmemory-policy': 'noeviction' })
  await expect(store().openGroup('evicted')).resolves.toBeDefined()
})

test('where CONFIG is forbidden nobody is refused: INFO tells, or what was declared', async () => {
  const redis = await without('config')
  const asked = new RedisLeaseStore(redis)
  expect(await asked.readDurability()).toEqual({
    level: 'D',
    findings: [
      'CONFIG GET is not permitted',
      'INFO reports no append-only file',
      expect.stringContaining('option durability'),
    ],
  })
  await expect(asked.openGroup('forbidden')).resolves.toBeDefined()
  await set({ appendonly: 'yes' })
  expect((await asked.readDurability()).level).toBe('C')
  const declared = new RedisLeaseStore(redis, { durability: 'A' })
  expect(await declared.readDurability()).toMatchObject({ level: 'A' })
  redis.disconnect()
  const blind = await without('config', 'info')
  const told = await new RedisLeaseStore(blind).readDurability()
  expect(told.level).toBe('D')
  expect(told.findings).toContain('INFO is not permitted either')
  await expect(new RedisLeaseStore(blind).openGroup('blind')).resolves.toBeDefined()
  blind.disconnect()
})

test('a server that is away is unavailable, not volatile', async () => {
  await using gone = await startRedisProcess({ args: ['--appendonly', 'yes'] })
  const leases = new RedisLeaseStore(gone.admin, { commandTimeoutMs: 200 })
  await gone.kill()
  const unavailable = { code: 'ERR_LEASE_STORE_UNAVAILABLE', retryable: true }
  await expect(leases.readDurability()).rejects.toMatchObject(unavailable)
  await expect(leases.openGroup('away')).rejects.toMatchObject(unavailable)
})

test('of a Cluster the least durable master counts, also with a client that has not connected yet', async () => {
  await using servers = await startRedisCluster()
  const cluster = servers.connect()
  const leases = new RedisLeaseStore(cluster)
  const [first, second, third] = servers.nodes
  if (!first || !second || !third) throw new Error('three masters')
  for (const { admin } of [first, second]) await admin.config('SET', 'appendonly', 'yes')
  const before = await leases.readDurability()
  expect(before.level).toBe('D')
  expect(before.findings).toContainEqual(
    expect.stringMatching(new RegExp(`^127.0.0.1:${third.port}: appendonly no`)),
  )
  await expect(leases.openGroup('one of three')).rejects.toMatchObject(VOLATILE)
  await third.admin.config('SET', 'appendonly', 'yes')
  expect((await leases.readDurability()).level).toBe('C')
  await expect(leases.openGroup('three of three')).resolves.toBeDefined()
  cluster.disconnect()
  // A client that has not connected yet knows of no master to ask.
  const lazy = new Cluster([{ host: third.host, port: third.port }], { lazyConnect: true })
  expect(lazy.nodes('master')).toEqual([])
  await first.admin.config('SET', 'appendonly', 'no')
  await expect(new RedisLeaseStore(lazy).openGroup('lazy')).rejects.toMatchObject(VOLATILE)
  lazy.disconnect()
})
