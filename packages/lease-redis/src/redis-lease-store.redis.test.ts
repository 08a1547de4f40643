import { readFile, readdir } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { FULL_RANGE } from '@tidemark/contracts'
import { leasePosition, leaseStoreConformance, StoreTime } from '@tidemark/testing/conformance'
import { startRedisServer, type RedisServer } from '@tidemark/testing/servers'
import { Redis } from 'ioredis'
import { RedisLeaseStore } from './redis-lease-store.ts'
import { TimedLeaseStore } from './testing.ts'

/* Users who may not do everything: the one that the README makes, and what each of its rights is for. */

const REFUSED = { code: 'ERR_LEASE_STORAGE', retryable: false }

let server: RedisServer
/** The words after the user's name in the README's ACL SETUSER. */
let rights: readonly string[]

beforeAll(async () => {
  server = await startRedisServer()
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const [, words = ''] = /^ACL SETUSER tidemark ((?:.*\\\n)*.*)$/m.exec(readme) ?? []
  rights = words.split(/[\s\\]+/)
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.admin.flushall()
  await give(rights)
})

async function give(words: readonly string[]): Promise<void> {
  await server.admin.call('ACL', 'SETUSER', 'tidemark', 'reset', ...words)
}

function connect(): Redis {
  const { host, port } = server
  return new Redis({ host, port, username: 'tidemark', password: 'secret' })
}

leaseStoreConformance({
  name: 'Redis, one server, as the user of the README',
  modelRuns: 50,
  timeGoesBack: true,
  async open() {
    const time = new StoreTime()
    const storeTimeUs = (): number => time.wallMs() * 1000
    const [one, two] = [connect(), connect()]
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

/** Commands that any of the scripts calls. */
async function usedCommands(): Promise<readonly string[]> {
  const folder = new URL('../lua/', import.meta.url)
  const scripts = (await readdir(folder)).filter((name) => name !== 'open.lua')
  const texts = await Promise.all(scripts.map((name) => readFile(new URL(name, folder), 'utf8')))
  const found = texts.join('\n').matchAll(/redis\.p?call\('([A-Z]+)'/g)
  return [...new Set([...found].map(([, name = '']) => name.toLowerCase()))].sort()
}

test('a right of the README that is missing is named when a group is opened, and nothing is written', async () => {
  const redis = connect()
  const store = new RedisLeaseStore(redis, { allowVolatile: true })
  const used = await usedCommands()
  expect(used.length).toBeGreaterThan(12)
  for (const command of used) {
    expect(rights).toContain(`+${command}`)
    await give([...rights, `-${command}`])
    const opening = store.openGroup('refused')
    await expect(opening, command).rejects.toMatchObject(REFUSED)
    await expect(opening).rejects.toThrow(new RegExp(command, 'i'))
  }
  for (const [channelOrKey, other] of [
    ['&tidemark:leases:*', '&others:*'],
    ['~tidemark:leases:*', '~tidemark:leases:groups'],
  ] as const) {
    await give(rights.map((word) => (word === channelOrKey ? other : word)))
    await expect(store.openGroup('refused'), channelOrKey).rejects.toMatchObject(REFUSED)
  }
  const keys = ['m', 'hd', 'hi', 'hx', 'hb', 'o', 'c', 't'].map((end) => {
    return `~tidemark:leases:{refused}:${end}`
  })
  const withKeys = (allowed: readonly string[]): Promise<void> =>
    give(rights.flatMap((word) => (word === '~tidemark:leases:*' ? allowed : word)))
  for (const left of keys) {
    await withKeys([
      '~tidemark:leases:groups',
      '~tidemark:leases:{refused}:m-',
      ...keys.filter((key) => key !== left),
      `%R${left}`,
    ])
    await expect(store.openGroup('refused'), left).rejects.toMatchObject(REFUSED)
  }
  expect(await server.admin.keys('*')).toEqual([])
  await give(rights)
  await expect(store.openGroup('refused')).resolves.toBeDefined()
  redis.disconnect()
})

test('a user who loses the channels while a group is open goes on without hints, and no script is half done', async () => {
  const redis = connect()
  const group = await new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('quiet')
  await give(rights.filter((word) => !word.startsWith('&')))
  await expect(
    server.admin.call('ACL', 'DRYRUN', 'tidemark', 'PUBLISH', 'x', 'y'),
  ).resolves.toMatch(/channel/)
  const lease = { range: FULL_RANGE, checkpoint: leasePosition(0) }
  await expect(group.create([lease])).resolves.toHaveLength(1)
  expect((await group.read()).membershipVersion).toBe(1)
  redis.disconnect()
})

test('a right to write that is lost while a group is open is no reason to try again', async () => {
  const redis = connect()
  const group = await new RedisLeaseStore(redis, { allowVolatile: true }).openGroup('lost')
  await give([...rights, '-hset'])
  await expect(group.setPaused(true)).rejects.toMatchObject(REFUSED)
  redis.disconnect()
})
