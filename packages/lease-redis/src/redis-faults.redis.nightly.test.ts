import { performance } from 'node:perf_hooks'
import { Redis } from 'ioredis'
import { expect, test, vi } from 'vitest'
import type { LeaseGroup } from '@tidemark/contracts'
import { hostIdentity, leasePosition, ownedGroup, syncRequest } from '@tidemark/testing/conformance'
import { startRedisProcess, startTcpProxy } from '@tidemark/testing/servers'
import { RedisLeaseStore } from './redis-lease-store.ts'

/** Of conditions: a busy machine takes longer than vitest's 1 s. */
const WAIT = { timeout: 30_000 }
/** Of a command that is to be given up. */
const HASTY = { commandTimeoutMs: 1_000, allowVolatile: true } as const
/** Of one that is to be answered, by a busy machine too. */
const PATIENT = { commandTimeoutMs: 30_000, allowVolatile: true } as const

const A = hostIdentity('a')
const B = hostIdentity('b')
const UNAVAILABLE = { code: 'ERR_LEASE_STORE_UNAVAILABLE', retryable: true }
const STORAGE = { code: 'ERR_LEASE_STORAGE', retryable: false }

function connect(port: number, options: object = {}): Redis {
  const redis = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20, ...options })
  redis.on('error', () => {})
  return redis
}

/** A group that gives up soon; only its opening may take longer. */
function openHasty(redis: Redis, name: string): Promise<LeaseGroup> {
  return vi.waitFor(() => new RedisLeaseStore(redis, HASTY).openGroup(name), WAIT)
}

function checkpoint(
  group: LeaseGroup,
  held: readonly { readonly leaseId: string; readonly epoch: number }[],
  value: number,
): Promise<readonly string[]> {
  return group.checkpoint({
    ...A,
    checkpoints: held.map((lease) => ({ ...lease, checkpoint: leasePosition(value) })),
  })
}

test('a server that is killed and started again, writing every command to disk, lost no lease and expired nobody', async () => {
  await using server = await startRedisProcess({
    args: ['--appendonly', 'yes', '--appendfsync', 'always'],
  })
  const redis = connect(server.port)
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('restart')
  const hasty = await openHasty(redis, 'restart')
  // A session that would be over after 300 ms of any clock that runs while the server is down.
  const short = { ttlMs: 300, clockCapMs: 50 }
  const held = await ownedGroup(group, A, 20)
  await group.sync(syncRequest(A, 'beat', short))
  await group.sync(syncRequest(B, 'join', short))
  await checkpoint(group, held, 11)
  const before = await group.read()
  await server.kill()
  await expect(hasty.read()).rejects.toMatchObject(UNAVAILABLE)
  await server.start()
  const after = await vi.waitFor(() => group.sync(syncRequest(A, 'beat', short)), WAIT)
  expect(after).toMatchObject({ kind: 'ok', membershipVersion: before.membershipVersion })
  if (after.kind !== 'ok') throw new Error('the host is not fenced')
  expect(after.clockMs - before.clockMs).toBeLessThanOrEqual(50)
  const { leases, hosts, generation } = await group.read()
  expect(generation).toBe(before.generation)
  expect(hosts.map(({ host }) => host)).toEqual(['a', 'b'])
  expect(leases.map(({ owner, epoch }) => ({ owner, epoch }))).toEqual(
    before.leases.map(({ owner, epoch }) => ({ owner, epoch })),
  )
  expect(new Set(await checkpoint(group, held, 12))).toEqual(new Set(['stored']))
  redis.disconnect()
})

test('a server that lost its data has a new generation, and the old host is fenced', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port)
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('wiped')
  const held = await ownedGroup(group, A, 2)
  const { generation } = await group.read()
  await server.kill()
  await server.start()
  const beat = syncRequest(A, 'beat')
  const reply = await vi.waitFor(() => group.sync(beat), WAIT)
  expect(reply.kind).toBe('fenced')
  expect(reply.generation).not.toBe(generation)
  expect(await checkpoint(group, held, 5)).toEqual(['lost', 'lost'])
  redis.disconnect()
})

test('forgotten scripts are sent again', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port)
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('flush')
  const held = await ownedGroup(group, A, 1)
  await server.admin.script('FLUSH')
  expect(await checkpoint(group, held, 5)).toEqual(['stored'])
  await server.admin.script('FLUSH')
  expect(await group.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'ok' })
  redis.disconnect()
})

test.each(['toServer', 'toClient'] as const)(
  'a connection that swallows %s gives the coded error in bounded time, and works again when it does',
  async (direction) => {
    await using server = await startRedisProcess()
    await using proxy = await startTcpProxy(server)
    const redis = connect(proxy.port)
    const group = await new RedisLeaseStore(redis, PATIENT).openGroup('cut')
    const held = await ownedGroup(group, A, 1)
    const hasty = await openHasty(redis, 'cut')
    proxy.block(direction)
    const startMs = performance.now()
    await expect(checkpoint(hasty, held, 5)).rejects.toMatchObject(UNAVAILABLE)
    expect(performance.now() - startMs).toBeLessThan(10 * HASTY.commandTimeoutMs)
    expect(proxy.droppedBytes).toBeGreaterThan(0)
    proxy.unblock()
    // The first one may have been stored or not; repeating it is always right.
    const stored = await vi.waitFor(() => checkpoint(hasty, held, 5), WAIT)
    expect(stored).toEqual(['stored'])
    redis.disconnect()
  },
)

test('while the connection is away calls are refused in bounded time and none is sent later', async () => {
  await using server = await startRedisProcess()
  await using proxy = await startTcpProxy(server)
  const redis = connect(proxy.port, { maxRetriesPerRequest: null })
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('away')
  const held = await ownedGroup(group, A, 1)
  const hasty = await openHasty(redis, 'away')
  proxy.refuse()
  await vi.waitFor(() => expect(redis.status).not.toBe('ready'), WAIT)
  await expect(hasty.sync(syncRequest(B, 'join'))).rejects.toMatchObject(UNAVAILABLE)
  await expect(hasty.discard('late')).rejects.toMatchObject(UNAVAILABLE)
  proxy.accept()
  const stored = await vi.waitFor(() => checkpoint(group, held, 6), WAIT)
  expect(stored).toEqual(['stored'])
  const { hosts, leases } = await group.read()
  expect(hosts).toMatchObject([A])
  expect(leases).toHaveLength(1)
  redis.disconnect()
})

test('a paused server moves no lease: its clock does not run', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port)
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('pause')
  const short = { ttlMs: 200, clockCapMs: 50 }
  await group.sync(syncRequest(A, 'join', short))
  await group.sync(syncRequest(B, 'join', short))
  const hasty = await openHasty(redis, 'pause')
  server.pause()
  for (let calls = 0; calls < 2; calls += 1) {
    await expect(hasty.read()).rejects.toMatchObject(UNAVAILABLE)
  }
  server.resume()
  const reply = await vi.waitFor(() => group.sync(syncRequest(A, 'beat', short)), WAIT)
  expect(reply.kind).toBe('ok')
  expect((await group.read()).hosts).toHaveLength(2)
  redis.disconnect()
})

test('an aborted call rejects with the reason, a closed client with the coded error', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port)
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('abort')
  server.pause()
  const abort = new AbortController()
  const reading = group.read(abort.signal)
  const reason = new Error('not needed any more')
  abort.abort(reason)
  await expect(reading).rejects.toBe(reason)
  await expect(group.read(abort.signal)).rejects.toBe(reason)
  server.resume()
  redis.disconnect()
  await vi.waitFor(() => expect(redis.status).toBe('end'), WAIT)
  await expect(group.read()).rejects.toMatchObject(UNAVAILABLE)
})

test('a replica, a full server and a loading one are errors that may pass', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port)
  const store = new RedisLeaseStore(redis, PATIENT)
  const group = await store.openGroup('states')
  const held = await ownedGroup(group, A, 1)
  await server.admin.config('SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction')
  await expect(checkpoint(group, held, 5)).rejects.toMatchObject(UNAVAILABLE)
  await server.admin.config('SET', 'maxmemory', '0')
  await server.admin.call('REPLICAOF', '127.0.0.1', '1')
  await expect(checkpoint(group, held, 5)).rejects.toMatchObject(UNAVAILABLE)
  await server.admin.call('REPLICAOF', 'NO', 'ONE')
  expect(await checkpoint(group, held, 5)).toEqual(['stored'])
  redis.disconnect()
})

test('LE-14 keys that hold something else, or rights that are missing, are named and left alone', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port)
  const store = new RedisLeaseStore(redis, PATIENT)
  await server.admin.set('tidemark:leases:{text}:m', 'mine')
  await expect(store.openGroup('text')).rejects.toMatchObject(STORAGE)
  await server.admin.hset('tidemark:leases:{hash}:m', 'field', 'mine')
  await expect(store.openGroup('hash')).rejects.toMatchObject(STORAGE)
  await server.admin.sadd('tidemark:leases:{set}:c', 'mine')
  await expect(store.openGroup('set')).rejects.toMatchObject(STORAGE)
  expect(await server.admin.get('tidemark:leases:{text}:m')).toBe('mine')
  expect(await server.admin.hgetall('tidemark:leases:{hash}:m')).toEqual({ field: 'mine' })
  await server.admin.call('ACL', 'SETUSER', 'reader', 'on', 'nopass', '~*', '+@read', '+ping')
  const reader = connect(server.port, {
    username: 'reader',
    password: 'any',
    enableReadyCheck: false,
  })
  await expect(new RedisLeaseStore(reader, PATIENT).openGroup('rights')).rejects.toMatchObject(
    STORAGE,
  )
  reader.disconnect()
  redis.disconnect()
})

test('a client’s own key prefix applies to keys and hints', async () => {
  await using server = await startRedisProcess()
  const redis = connect(server.port, { keyPrefix: 'app:' })
  const store = new RedisLeaseStore(redis, PATIENT)
  const group = await store.openGroup('prefixed')
  await group.create([])
  const hints: string[] = []
  group.subscribe((hint) => hints.push(hint))
  await vi.waitFor(async () => {
    await group.sync(syncRequest(A, 'join'))
    await group.sync(syncRequest(A, 'leave'))
    expect(hints).toContain('membership')
  }, WAIT)
  const keys = await server.admin.keys('*')
  expect(keys.filter((key) => !key.startsWith('app:tidemark:leases:'))).toEqual([])
  await ownedGroup(group, A, 1)
  expect(await store.listGroups()).toEqual(['prefixed'])
  await group.close()
  redis.disconnect()
})

test('hints come again after the connection was cut, and closing the group ends its connection', async () => {
  await using server = await startRedisProcess()
  await using proxy = await startTcpProxy(server)
  const redis = connect(proxy.port)
  const direct = connect(server.port)
  const group = await new RedisLeaseStore(redis, PATIENT).openGroup('hints')
  const other = await new RedisLeaseStore(direct, PATIENT).openGroup('hints')
  let hints = 0
  group.subscribe(() => {
    hints += 1
  })
  const hinted = async (): Promise<void> => {
    hints = 0
    // Not for longer: whoever is not told looks at its heartbeat.
    await vi.waitFor(
      async () => {
        await other.sync(syncRequest(A, 'join'))
        await other.sync(syncRequest(A, 'leave'))
        expect(hints).toBeGreaterThan(0)
      },
      { timeout: 10_000 },
    )
  }
  await hinted()
  proxy.cut()
  await hinted()
  const clients = async (): Promise<number> =>
    String(await server.admin.client('LIST'))
      .trim()
      .split('\n').length
  // The test's own, the server's admin connection, and the store's for hints.
  await vi.waitFor(async () => expect(await clients()).toBe(4), WAIT)
  await group.close()
  await vi.waitFor(async () => expect(await clients()).toBe(3), WAIT)
  redis.disconnect()
  direct.disconnect()
})

test.each([{ keyPrefix: 'a{b}:' }, { commandTimeoutMs: 0 }, { commandTimeoutMs: NaN }])(
  'the options %j are refused',
  (options) => {
    const redis = new Redis({ lazyConnect: true })
    expect(() => new RedisLeaseStore(redis, options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
  },
)
