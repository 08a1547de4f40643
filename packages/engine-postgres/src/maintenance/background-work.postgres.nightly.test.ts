import { effectivePartitionKey, partitionKeyDefinition } from '@tidemark/contracts'
import { PENDING_DELETE_ROW } from '@tidemark/contracts/internal'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EPOCH_JUMP } from '../schema/epoch-jump.ts'
import { StoreUnderTest, del, put, whileRunning } from './store-under-test.fixture.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const PK_COUNT = 20

/** Writes `count` documents to each of the partition keys. */
async function fill(store: StoreUnderTest, count: number): Promise<void> {
  for (let n = 0; n < count; n += 50) {
    const ids = Array.from({ length: Math.min(50, count - n) }, (_, offset) => `d${n + offset}`)
    await Promise.all(
      Array.from({ length: PK_COUNT }, (_, pk) =>
        store.commit(`p${pk}`, ...ids.map((id) => put(id))),
      ),
    )
  }
}

/** Ids by row of the feed, as `pk/id`: the fixture's documents have their partition key nowhere else. */
async function documents(store: StoreUnderTest): Promise<readonly string[]> {
  const rows = await store.query('SELECT pk, id FROM doc WHERE kind = 0 ORDER BY pk, id')
  return rows.map(([pk, id]) => `${String(pk)}/${String(id)}`)
}

test('ST-9 folding beside writes of the very rows that it moves loses nothing', async () => {
  await using store = await StoreUnderTest.open(server)
  await fill(store, 200)
  const before = await documents(store)
  const deleted = new Set<string>()
  const turns = await whileRunning(
    async () => {
      for (const at of ['20', '10', '30']) await store.split(at)
      await store.maintain('fold', 100)
      await store.mergeAll()
      await store.maintain('fold', 100)
    },
    {
      width: 8,
      // Several at once, in an order that is not the feed's: folding comes from the other end.
      act: async (turn) => {
        const pk = turn % PK_COUNT
        const ids = Array.from({ length: 15 }, (_, n) => (turn * 7 + n * 13) % 200)
        const unique = [...new Set(ids)]
        const [first = 0, ...rest] = unique
        const isGone = turn % 10 === 0
        if (isGone) deleted.add(`["p${pk}"]/d${first}`)
        await store.commit(
          `p${pk}`,
          isGone ? del(`d${first}`) : put(`x${first}`),
          ...rest.map((id) => put(`d${id}`)),
        )
      },
    },
  )
  expect(turns).toBeGreaterThan(50)
  expect(await store.database.check()).toEqual([])
  expect(await store.maintain('fold', 100)).toBe(0)
  const after = new Set(await documents(store))
  // What was deleted may have been written again since.
  expect(before.filter((name) => !after.has(name) && !deleted.has(name))).toEqual([])
  const rows = await store.feed()
  expect(rows).toHaveLength(after.size)
  expect(await store.number(`SELECT count(*) FROM pkrange_segment`)).toBeLessThanOrEqual(2)
})

test('ST-9 folding waits for no commit: it ends below a row that one is removing, and goes on later', async () => {
  await using store = await StoreUnderTest.open(server)
  await fill(store, 10)
  await store.split('20')
  const { tasks } = await store.other.readMaintenance()
  const [task] = tasks
  const piece = { holder: 'test', leaseMs: 10_000, maxItems: 1000, task }
  const rows = `FROM doc WHERE epk < '20' AND kind = 0`
  const all = await store.number(`SELECT count(*) ${rows}`)
  const [locked] = await store.query(
    `SELECT segment, lsn, ord ${rows} ORDER BY lsn, ord OFFSET ${all / 2} LIMIT 1`,
  )
  const below = await store.number(`SELECT count(*) ${rows} AND lsn < $1`, [locked?.[1]])
  await store.query('BEGIN')
  await store.query('DELETE FROM doc WHERE segment = $1 AND lsn = $2 AND ord = $3', locked)
  expect(await store.other.maintain(piece)).toEqual({ kind: 'done', items: below, more: true })
  // The very first row that is left is the locked one.
  expect(await store.other.maintain(piece)).toEqual({ kind: 'done', items: 0, more: true })
  await store.query('ROLLBACK')
  expect(await store.other.maintain(piece)).toEqual({
    kind: 'done',
    items: all - below,
    more: false,
  })
  expect(below).toBeGreaterThan(0)
  expect(await store.feed()).toHaveLength(PK_COUNT * 10)
})

test('TTL-13 TTL-16 each expiry has one pending delete at an LSN of its own, whoever finds it', async () => {
  await using store = await StoreUnderTest.open(server, {
    defaultTtl: 100,
    allVersions: { retentionSeconds: 3600, previousImages: false },
  })
  await store.split('20')
  await fill(store, 40)
  store.clock.step(100_000)
  const found = await whileRunning(
    async () => {
      await store.maintain('sweep', 30)
    },
    {
      width: 6,
      act: async (turn) => {
        await store.commit(`p${turn % PK_COUNT}`, put(`d${(turn * 7) % 40}`))
      },
    },
  )
  expect(found).toBeGreaterThan(5)
  const pending = (await store.feed()).filter(([, kind]) => kind === PENDING_DELETE_ROW)
  expect(pending).toHaveLength(PK_COUNT * 40)
  const places = await store.query('SELECT DISTINCT segment, lsn FROM doc WHERE kind = 1')
  expect(places).toHaveLength(PK_COUNT * 40)
  expect(await store.number('SELECT count(*) FROM log WHERE op = 3')).toBe(PK_COUNT * 40)
  expect(await store.database.check()).toEqual([])
})

test('TTL-18 beside writes, every document is filed by the new default', async () => {
  await using store = await StoreUnderTest.open(server, { defaultTtl: 100 })
  await store.split('20')
  await fill(store, 50)
  store.clock.step(50_000)
  const turns = await whileRunning(
    async () => {
      for (const defaultTtl of [1000, -1, 30, 5000]) {
        await store.other.updateCollection(store.collection, { defaultTtl })
        store.clock.step(1000)
        expect(await store.maintain('expiryIndex', 70)).toBeGreaterThan(0)
        // Among them: the index of expiry is exact, and no past values are left.
        expect(await store.other.check()).toEqual([])
      }
    },
    {
      width: 6,
      act: async (turn) => {
        await store.commit(`p${turn % PK_COUNT}`, put(`d${turn % 50}`), put(`n${turn}`, 500))
      },
    },
  )
  expect(turns).toBeGreaterThan(20)
  const pending = (await store.feed()).filter(([, kind]) => kind === PENDING_DELETE_ROW)
  // Written 50 s before, and the default was 30 s for a while.
  expect(pending.length).toBeGreaterThan(0)
})

test('TTL-18 documents are filed after the commits that still judged by the old default', async () => {
  await using store = await StoreUnderTest.open(server, { defaultTtl: 100 })
  await store.commit('p', put('a'))
  await store.database.updateCollection(store.collection, { defaultTtl: 200 })
  await store.query('BEGIN')
  await store.query('SELECT 1 FROM segment FOR NO KEY UPDATE')
  await store.query(
    `INSERT INTO doc(lsn, exp, ts, segment, ord, coll, ttl, kind, epk, pk, id, rid, body)
      SELECT lsn + 1, exp, ts, segment, ord, coll, ttl, kind, epk, pk, 'b', rid, body FROM doc`,
  )
  await store.query('UPDATE segment SET lsn = lsn + 1')
  const filed = store.maintain('expiryIndex', 100)
  await store.untilBlocked()
  await store.query('COMMIT')
  expect(await filed).toBe(2)
  expect(await store.database.check()).toEqual([])
})

test('ST-5 after a fail-over the sweep gives out no LSN again that may have been lost', async () => {
  await using store = await StoreUnderTest.open(server, { defaultTtl: 100 })
  const lsn = await store.commit('p', put('a'))
  store.clock.step(100_000)
  await store.query('UPDATE segment SET timeline = timeline - 1')
  expect(await store.maintain('sweep', 10)).toBe(1)
  const [row] = await store.feed()
  expect(row?.[0]).toBeGreaterThan(lsn + EPOCH_JUMP)
  expect(await store.number('SELECT epoch FROM segment')).toBe(1)
})

test('TTL-14 purging beside writes raises horizons and removes what is above no reader', async () => {
  await using store = await StoreUnderTest.open(server, {
    defaultTtl: 100,
    pendingDeletes: { retentionSeconds: 10, waitFor: [] },
    allVersions: { retentionSeconds: 10, previousImages: false },
  })
  for (const at of ['10', '20', '30']) await store.split(at)
  await fill(store, 30)
  store.clock.step(100_000)
  await store.maintain('sweep', 1000)
  store.clock.step(10_000)
  let purged = 0
  let trimmed = 0
  await whileRunning(
    async () => {
      purged = await store.maintain('purge', 50)
      trimmed = await store.maintain('trimVersions', 100)
    },
    {
      width: 4,
      act: async (turn) => {
        await store.commit(`p${turn % PK_COUNT}`, put(`d${turn}`))
      },
    },
  )
  expect(purged).toBe(PK_COUNT * 30)
  // An entry for each write, and one for each expiry.
  expect(trimmed).toBe(PK_COUNT * 30 * 2)
  expect(
    (await store.database.readExpiry(store.collection, { withinSeconds: [] })).horizons,
  ).toHaveLength(4)
  expect(await store.database.check()).toEqual([])
})

test('rows of deleted collections go, in pieces, by whoever looks, and others stay', async () => {
  await using store = await StoreUnderTest.open(server)
  await fill(store, 600)
  const definition = { ...store.collection.definition }
  const kept = await store.database.createCollection('kept', definition, [
    { minInclusive: '', maxExclusive: 'FF' },
  ])
  const key = { collection: kept.number, epk: '00', partitionKey: '["a"]' }
  await store.database.commit({ batches: [{ ...key, operations: [put('a')] }] })
  await store.database.deleteCollection('coll')
  const rows = (): Promise<number> => store.number('SELECT count(*) FROM doc')
  expect(await rows()).toBe(PK_COUNT * 600 + 1)
  let looks = 0
  for (
    ;
    (await store.number(`SELECT count(*) FROM segment WHERE state = 'dropped'`)) > 0;
    looks++
  ) {
    await Promise.all([store.database.readMaintenance(), store.other.readMaintenance()])
  }
  expect(looks).toBeGreaterThan(1)
  expect(await rows()).toBe(1)
  expect(await store.database.countDocuments(kept)).toBe(1)
})

/** A partition key value whose EPK is in the interval. */
function keyIn(min: string, max: string): string {
  for (let n = 0; ; n++) {
    const epk = effectivePartitionKey([`p${n}`], partitionKeyDefinition('/pk'))
    if (epk >= min && epk < max) return `p${n}`
  }
}

test('CF-11 no horizon rises above an entry that is behind a thousand of another range', async () => {
  await using store = await StoreUnderTest.open(server, {
    allVersions: { retentionSeconds: 10, previousImages: false },
  })
  await store.split('10')
  const [low, middle, crowd] = [keyIn('', '10'), keyIn('10', '20'), keyIn('20', 'FF')]
  await store.commit(low, put('first'))
  const absent = Array.from(
    { length: 2000 },
    (_, n) => ({ ...put(`x${n}`), kind: 'delete' }) as const,
  )
  // Its number is above that of 'young'.
  const high = await store.commit(low, ...absent, put('high'))
  await Promise.all(Array.from({ length: 1000 }, (_, n) => store.commit(crowd, put(`c${n}`))))
  store.clock.step(5_000)
  const young = await store.commit(middle, put('young'))
  expect(young).toBeLessThan(high)
  await store.split('20')
  const [a, b] = await store.database.listRanges(store.collection)
  const ranges = [a!.number, b!.number] as const
  await store.database.mergeRanges({ collection: store.collection, ranges })
  store.clock.step(6_000)
  await store.maintain('trimVersions', 100)
  expect(await store.query('SELECT id FROM log ORDER BY id')).toEqual([['high'], ['young']])
})
