import { startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { DeadLetter } from '@tidemark/contracts'
import type { SinkEntry } from '../sink-entry.ts'
import type { Sink } from '../sink.ts'
import { contextOf, documentsOf, entryOf, heldSink, stage, type Order } from '../sync.fixture.ts'
import { redisCacheSink } from './redis-cache-sink.ts'
import { redisSortedSetSink } from './redis-sorted-set-sink.ts'

const SOURCE = { identity: 'store/rid', description: 'shop/orders' }
let server: RedisProcess
let redis: Redis

beforeAll(async () => {
  server = await startRedisProcess({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
  redis = new Redis({
    port: server.port,
    host: '127.0.0.1',
    retryStrategy: () => 20,
    maxRetriesPerRequest: 2,
  })
  redis.on('error', () => {})
})
afterAll(async () => {
  redis.disconnect()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => redis.flushall())

/** What both keep, as totals by customer and id. */
interface Kept {
  readonly sink: (tombstoneSeconds?: number) => Sink<SinkEntry<Order>>
  readonly read: () => Promise<Map<string, number>>
}

const cache: Kept = {
  sink: (tombstoneSeconds) => redisCacheSink<Order>({ redis, prefix: 'orders:', tombstoneSeconds }),
  async read() {
    const found = new Map<string, number>()
    for (const key of await redis.keys('orders:[[]*')) {
      const json = await redis.hget(key, 'json')
      if (json === null) continue
      const { customer, id, total } = JSON.parse(json) as Order
      expect(key).toBe(`orders:["${customer}"]:${id}`)
      found.set(`${customer}/${id}`, total)
    }
    return found
  },
}
const board: Kept = {
  sink: (tombstoneSeconds) =>
    redisSortedSetSink<Order>({
      redis,
      key: 'board',
      score: ({ total }) => total,
      member: ({ partitionKey, id }) => `${String(partitionKey)}/${id}`,
      tombstoneSeconds,
    }),
  async read() {
    const flat = await redis.zrange('board', '0', '-1', 'WITHSCORES')
    const pairs = Array.from({ length: flat.length / 2 }, (_, n) => flat.slice(2 * n, 2 * n + 2))
    return new Map(pairs.map(([member = '', score]) => [member, Number(score)]))
  },
}

describe.each([
  ['a cache', cache],
  ['a sorted set', board],
])('JB-6 %s of Redis', (_, kept) => {
  test('follows writes, deletes and expiry', async () => {
    await using on = await stage()
    for (let n = 0; n < 250; n += 1) {
      await on.orders.upsert({ id: `o${n}`, customer: `c${n % 7}`, total: n })
    }
    await on.orders.upsert({ id: 'short', customer: 'c1', total: 1, ttl: 1 })
    const worker = on.worker({ sink: kept.sink(), deletes: 'apply' })
    await worker.start()
    await worker.caughtUp()
    expect((await kept.read()).get('c1/o1')).toBe(1)
    await on.orders.delete('o1', 'c1')
    await on.orders.upsert({ id: 'o2', customer: 'c2', total: 2_000 })
    await on.orders.delete('o3', 'c3')
    await on.orders.upsert({ id: 'o3', customer: 'c3', total: 3_000 })
    await vi.waitFor(async () => {
      await on.store.runMaintenance()
      await worker.caughtUp()
      expect((await kept.read()).has('c1/short')).toBe(false)
    }, 10_000)
    expect(await kept.read()).toEqual(await documentsOf(on.orders))
  })

  test('never goes back, in whatever order, batches and repeats entries come', async () => {
    const sink = kept.sink()
    const entry = fc.record({
      id: fc.constantFrom('a', 'b'),
      epoch: fc.integer({ min: 0, max: 1 }),
      lsn: fc.integer({ min: 1, max: 9 }),
    })
    const batches = fc.array(fc.array(entry, { minLength: 1, maxLength: 6 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        await redis.flushall()
        const written = given.map((batch) =>
          batch.map(({ id, epoch, lsn }) => {
            const total = lsn % 3 === 0 ? undefined : epoch * 10 + lsn
            return entryOf(id, { epoch, lsn, total })
          }),
        )
        await Promise.all(written.map((batch) => sink.write(batch, contextOf())))
        const newest = new Map<string, { at: number; total: number | undefined }>()
        for (const { id, epoch, lsn, document } of written.flat()) {
          const at = epoch * 10 + lsn
          if (at > (newest.get(id)?.at ?? -1)) newest.set(id, { at, total: document?.total })
        }
        const live = [...newest].filter(([, { total }]) => total !== undefined)
        expect(await kept.read()).toEqual(
          new Map(live.map(([id, { total }]) => [`c/${id}`, total])),
        )
      }),
      { numRuns: 40, seed: 19 },
    )
  })

  test('keeps documents of one id under two partition keys apart', async () => {
    const sink = kept.sink()
    const batch = ['c', 'd'].map((customer, n) => entryOf('a', { lsn: n + 1, total: n, customer }))
    await sink.write(batch, contextOf())
    expect(await kept.read()).toEqual(
      new Map([
        ['c/a', 0],
        ['d/a', 1],
      ]),
    )
  })

  test('a late write of a worker that stood still brings no deleted document back', async () => {
    await using on = await stage()
    await on.orders.upsert({ id: 'gone', customer: 'c', total: 1 })
    await on.orders.upsert({ id: 'kept', customer: 'c', total: 1 })
    const { sink, held, release } = heldSink(kept.sink(), () => true)
    const late = on.worker({ sink, hostOptions: { shutdownTimeoutMs: 1, abortGraceMs: 1 } })
    await late.start()
    await held
    await late.stop()
    const next = on.worker({ sink: kept.sink(), deletes: 'apply' })
    await next.start()
    await on.orders.delete('gone', 'c')
    await on.orders.upsert({ id: 'kept', customer: 'c', total: 2 })
    await next.caughtUp()
    await release()
    expect(await kept.read()).toEqual(new Map([['c/kept', 2]]))
  })

  test('forgets deleted documents after a time, and nothing else', async () => {
    const sink = kept.sink(0.001)
    const [gone, stays] = ['gone', 'stays']
    await sink.write([entryOf(gone, { lsn: 5, total: 1 })], contextOf())
    await sink.write([entryOf(stays, { lsn: 5, total: 1 })], contextOf())
    await sink.write([entryOf(gone, { lsn: 6, total: undefined })], contextOf())
    const remembered = async (): Promise<string[]> => {
      const keys = (await redis.keys('orders:*')).map((key) => key.split(':').at(-1)!)
      const members = await redis.hkeys('{board}:versions')
      return [...keys, ...members.map((member) => member.split('/').at(-1)!)]
    }
    const other = 'other'
    await vi.waitFor(async () => {
      await sink.write([entryOf(other, { lsn: 7, total: 1 })], contextOf())
      expect((await remembered()).toSorted()).toEqual([other, stays])
    })
    await sink.write([entryOf(stays, { lsn: 4, total: 9 })], contextOf())
    const live = [`c/${other}`, `c/${stays}`].map((name) => [name, 1] as const)
    expect(await kept.read()).toEqual(new Map(live))
  })

  test('a server that is killed and comes back, without the script, costs no change and makes no dead letter', async () => {
    await using on = await stage()
    const letters: DeadLetter<Order>[] = []
    const worker = on.worker({
      sink: kept.sink(),
      feedOptions: { maxItemCount: 10 },
      deadLetters: (letter) => void letters.push(letter),
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } },
    })
    await worker.start()
    const write = async (from: number): Promise<void> => {
      for (let n = from; n < from + 100; n += 1) {
        await on.orders.upsert({ id: `o${n % 150}`, customer: `c${n % 3}`, total: n })
      }
    }
    await write(0)
    await server.kill()
    await write(100)
    await vi.waitFor(() => {
      const failed = on.events.filter((event) => event.kind === 'failure' && event.what === 'sink')
      expect(failed).not.toEqual([])
    }, 10_000)
    await server.start()
    await write(200)
    await worker.caughtUp()
    expect(await kept.read()).toEqual(await documentsOf(on.orders))
    expect(letters).toEqual([])
  })

  test('is refused to a second collection', async () => {
    const sink = kept.sink()
    await sink.open!(SOURCE, {})
    await sink.open!(SOURCE, {})
    await expect(sink.open!({ ...SOURCE, identity: 'store/other' }, {})).rejects.toMatchObject({
      code: 'ERR_SINK_TARGET',
    })
  })
})

describe('JB-6 on Redis', () => {
  test('a key that holds something else is refused by the name of its document; the others are written', async () => {
    await redis.set('orders:["c"]:taken', 'mine')
    const entries = ['a', 'taken', 'z'].map((id) => entryOf(id, { lsn: 1, total: 1 }))
    await expect(cache.sink().write(entries, contextOf())).rejects.toMatchObject({
      code: 'ERR_SINK_REFUSED',
      message: expect.stringContaining('"taken"'),
    })
    expect(await redis.get('orders:["c"]:taken')).toBe('mine')
    for (const id of ['a', 'z']) {
      expect(await redis.hget(`orders:["c"]:${id}`, 'json')).toContain('"total":1')
    }
  })

  test('a sorted set whose key holds something else is waited for: no document is to blame', async () => {
    await redis.set('board', 'mine')
    const entry = entryOf('a', { lsn: 1, total: 1 })
    const unavailable = { code: 'ERR_SINK_UNAVAILABLE' }
    await expect(board.sink().write([entry], contextOf())).rejects.toMatchObject(unavailable)
    await redis.del('board')
    await board.sink().write([entry], contextOf())
    expect(await board.read()).toEqual(new Map([['c/a', 1]]))
  })

  test('a member that comes again after it was deleted is not one to be forgotten', async () => {
    await board.sink().write([entryOf('a', { lsn: 1, total: undefined })], contextOf())
    expect(await redis.zcard('{board}:deleted')).toBe(1)
    await board.sink().write([entryOf('a', { lsn: 2, total: 1 })], contextOf())
    expect(await redis.zcard('{board}:deleted')).toBe(0)
  })

  test('a score that is no number is refused, and undefined is no member', async () => {
    const entry = entryOf('a', { lsn: 1, total: Number.NaN })
    await expect(board.sink().write([entry], contextOf())).rejects.toMatchObject({
      code: 'ERR_SINK_REFUSED',
    })
    const none = redisSortedSetSink<Order>({ redis, key: 'board', score: () => undefined })
    await none.write([entry], contextOf())
    expect(await redis.exists('board')).toBe(0)
  })

  test('values of a cache end after their time, also when nothing is written', async () => {
    const sink = redisCacheSink<Order>({ redis, prefix: 'orders:', ttlSeconds: 100 })
    await sink.write([entryOf('a', { lsn: 1, total: 1 })], contextOf())
    const left = await redis.pttl('orders:["c"]:a')
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(100_000)
    // What comes again after it was deleted has no end of its tombstone.
    const lasting = cache.sink()
    await lasting.write([entryOf('b', { lsn: 1, total: undefined })], contextOf())
    await lasting.write([entryOf('b', { lsn: 2, total: 1 })], contextOf())
    expect(await redis.pttl('orders:["c"]:b')).toBe(-1)
    for (const ttlSeconds of [0, -1, Number.NaN]) {
      expect(() => redisCacheSink({ redis, prefix: 'x', ttlSeconds })).toThrow(/ttlSeconds/)
    }
  })
})
