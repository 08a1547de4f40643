import { readdir } from 'node:fs/promises'
import { Redis } from 'ioredis'
import { expect, test, vi } from 'vitest'
import { startRedisCluster } from './redis-cluster.ts'
import { startRedisProcess } from './redis-process.ts'
import { startSentinelSet } from './sentinel-set.ts'
import { startTcpProxy } from './tcp-proxy.ts'

test('the caller’s arguments win, so that a killed server with an append-only file keeps its data', async () => {
  await using server = await startRedisProcess({
    args: ['--appendonly', 'yes', '--appendfsync', 'always'],
  })
  await server.admin.set('key', 'value')
  const { pid } = server
  await server.kill()
  expect(server.running).toBe(false)
  await server.start()
  expect(server.pid).not.toBe(pid)
  expect(await server.admin.get('key')).toBe('value')
})

test('a stopped server leaves no process and no files', async () => {
  const server = await startRedisProcess()
  const { pid = 0, dir } = server
  server.pause()
  await server.stop()
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/)
  await expect(readdir(dir)).rejects.toThrow(/ENOENT/)
})

test('a cluster answers on every slot', async () => {
  await using cluster = await startRedisCluster()
  const client = cluster.connect()
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    expect(await client.set(key, key)).toBe('OK')
  }
  expect(client.nodes('master')).toHaveLength(3)
  client.disconnect()
})

test('in a cluster with replicas one takes over the slots of a master that dies', async () => {
  await using cluster = await startRedisCluster({ replicas: 1, nodeTimeoutMs: 1_000 })
  const client = cluster.connect()
  await client.set('key', 'value')
  const slot = Number(await client.cluster('KEYSLOT', 'key'))
  const master = await cluster.masterOf(slot)
  await master.kill()
  await expect.poll(() => cluster.masterOf(slot)).not.toBe(master)
  expect(await client.get('key')).toBe('value')
  client.disconnect()
})

test('the Sentinels make a replica the primary when the primary dies', async () => {
  await using set = await startSentinelSet()
  const client = set.connect()
  await client.set('key', 'value')
  await client.wait(2, 5_000)
  const primary = await set.primary()
  await primary.kill()
  expect(await client.set('key', 'later')).toBe('OK')
  // The Sentinel that is asked may be the last to hear of it.
  await vi.waitFor(async () => expect(await set.primary()).not.toBe(primary), 10_000)
  client.disconnect()
})

test('a proxy cuts, blocks each direction for itself, and lets through again', async () => {
  await using server = await startRedisProcess()
  await using proxy = await startTcpProxy(server)
  const client = new Redis({ port: proxy.port, host: proxy.host, retryStrategy: () => 10 })
  client.on('error', () => {})
  expect(await client.incr('n')).toBe(1)
  proxy.block('toClient')
  const unanswered = client.incr('n')
  await expect.poll(() => proxy.droppedBytes).toBeGreaterThan(0)
  expect(await server.admin.get('n')).toBe('2')
  proxy.unblock()
  // ioredis sends again what had no answer.
  expect(await unanswered).toBe(3)
  proxy.refuse()
  await expect.poll(() => client.status).not.toBe('ready')
  proxy.accept()
  expect(await client.incr('n')).toBe(4)
  client.disconnect()
})
