import { startPostgresProcess, type PostgresProcess } from '@tidemark/testing/servers'
import fc from 'fast-check'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { DeadLetter } from '@tidemark/contracts'
import { contextOf, documentsOf, entryOf, heldSink, stage, type Order } from '../sync.fixture.ts'
import { postgresSink, type PostgresSinkOptions } from './postgres-sink.ts'

let server: PostgresProcess
let pool: Pool
let tables = 0
let table: string

beforeAll(async () => {
  server = await startPostgresProcess()
  pool = new Pool({ connectionString: server.url() })
  pool.on('error', () => {})
})
afterAll(async () => {
  await pool.end()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  tables += 1
  table = `public.Or"ders ${tables}`
})

const quoted = (): string => `public."Or""ders ${tables}"`
const sinkInto = (options: Partial<PostgresSinkOptions<Order>> = {}) =>
  postgresSink<Order>({ pool, table, ...options })

async function rows(): Promise<Map<string, number>> {
  const { rows: found } = await pool.query<{ name: string; total: string }>(
    `SELECT document->>'customer' || '/' || id AS name, document->>'total' AS total
     FROM ${quoted()} WHERE deleted_at IS NULL`,
  )
  return new Map(found.map(({ name, total }) => [name, Number(total)]))
}

describe('JB-6 a table of PostgreSQL', () => {
  test('follows writes, deletes, expiry and splits, and tells each batch', async () => {
    await using on = await stage()
    for (let n = 0; n < 50; n += 1) {
      await on.orders.upsert({ id: `o${n}`, customer: `c${n % 7}`, total: n })
    }
    await on.orders.upsert({ id: 'short', customer: 'c1', total: 1, ttl: 1 })
    const worker = on.worker({ sink: sinkInto(), deletes: 'apply' })
    await worker.start()
    await worker.caughtUp()
    expect((await rows()).get('c1/o1')).toBe(1)
    await on.orders.delete('o1', 'c1')
    await on.orders.upsert({ id: 'o2', customer: 'c2', total: 2_000 })
    const [range] = await on.orders.readFeedRanges()
    await on.orders.split(range!.id!)
    await on.orders.delete('o3', 'c3')
    await on.orders.upsert({ id: 'o3', customer: 'c3', total: 3_000 })
    await vi.waitFor(async () => {
      await on.store.runMaintenance()
      await worker.caughtUp()
      expect((await rows()).has('c1/short')).toBe(false)
    }, 10_000)
    expect(await rows()).toEqual(await documentsOf(on.orders))
    const { entries, lag } = await worker.progress()
    expect(lag).toBe(0)
    const told = on.events.flatMap((event) => (event.kind === 'written' ? [event.entries] : []))
    expect(told.reduce((sum, one) => sum + one, 0)).toBe(entries)
  })

  test('never goes back, in whatever order, batches and repeats entries come', async () => {
    const sink = sinkInto()
    await sink.open!({ identity: 'store/rid', description: 'shop/orders' }, {})
    const entry = fc.record({
      id: fc.constantFrom('a', 'b'),
      epoch: fc.integer({ min: 0, max: 1 }),
      lsn: fc.integer({ min: 1, max: 9 }),
    })
    const batches = fc.array(fc.array(entry, { minLength: 1, maxLength: 6 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        await pool.query(`DELETE FROM ${quoted()}`)
        // A version is one thing, however often it comes.
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
        expect(await rows()).toEqual(new Map(live.map(([id, { total }]) => [`c/${id}`, total])))
      }),
      { numRuns: 40, seed: 19 },
    )
  })

  test('keeps documents of one id under two partition keys apart', async () => {
    const sink = sinkInto()
    await sink.open!({ identity: 'store/rid', description: 'shop/orders' }, {})
    const batch = ['c', 'd'].map((customer, n) => entryOf('a', { lsn: n + 1, total: n, customer }))
    await sink.write(batch, contextOf())
    expect(await rows()).toEqual(
      new Map([
        ['c/a', 0],
        ['d/a', 1],
      ]),
    )
  })

  test('a later history of the store wins with lower LSNs, an earlier one does not', async () => {
    const sink = sinkInto()
    await sink.open!({ identity: 'store/rid', description: 'shop/orders' }, {})
    await sink.write([entryOf('a', { epoch: 0, lsn: 100, total: 1 })], contextOf())
    await sink.write([entryOf('a', { epoch: 1, lsn: 90, total: 2 })], contextOf())
    await sink.write([entryOf('a', { epoch: 0, lsn: 110, total: 3 })], contextOf())
    expect(await rows()).toEqual(new Map([['c/a', 2]]))
  })

  test('what a worker that stood still writes late changes nothing, also of a deleted document', async () => {
    await using on = await stage()
    await on.orders.upsert({ id: 'gone', customer: 'c', total: 1 })
    await on.orders.upsert({ id: 'kept', customer: 'c', total: 1 })
    const { sink, held, release } = heldSink(sinkInto(), () => true)
    const late = on.worker({ sink, hostOptions: { shutdownTimeoutMs: 1, abortGraceMs: 1 } })
    const deleting = { deletes: 'apply', group: 'copy' } as const
    await late.start()
    await held
    await late.stop()
    const next = on.worker({ sink: sinkInto(), ...deleting })
    await next.start()
    await on.orders.delete('gone', 'c')
    await on.orders.upsert({ id: 'kept', customer: 'c', total: 2 })
    await next.caughtUp()
    await release()
    expect(await rows()).toEqual(new Map([['c/kept', 2]]))
  })

  test('a replay from the beginning rewrites no row', async () => {
    await using on = await stage()
    for (let n = 0; n < 20; n += 1) {
      await on.orders.upsert({ id: `o${n}`, customer: 'c', total: n })
    }
    await on.sync({ sink: sinkInto() })
    const places = `SELECT id, ctid, xmin FROM ${quoted()} ORDER BY id`
    const before = await pool.query(places)
    expect(before.rows).toHaveLength(20)
    await on.sync({ sink: sinkInto(), group: 'again' })
    expect((await pool.query(places)).rows).toEqual(before.rows)
  })

  test('columns have their types; a document that does not fit becomes a dead letter that names it', async () => {
    await using on = await stage()
    for (let n = 0; n < 40; n += 1) {
      const total = n === 17 ? ('much' as unknown as number) : n
      await on.orders.upsert({ id: `o${n}`, customer: 'c', total })
    }
    await on.orders.upsert({ id: 'nul', customer: '\0', total: 1 })
    const letters: DeadLetter<Order>[] = []
    const sink = sinkInto({
      columns: {
        total: { type: 'numeric(10, 2)', value: ({ total }) => total },
        names: { type: 'text[]', value: ({ id, customer }) => [id, customer] },
        at: { type: 'timestamptz', value: ({ _ts }) => new Date(_ts * 1_000) },
      },
    })
    await on.sync({
      sink,
      deadLetters: (letter) => void letters.push(letter),
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 }, retryDelayMs: 1 },
    })
    const { rows: found } = await pool.query(
      `SELECT total::float8, names, at > now() - interval '1 hour' AS recent
       FROM ${quoted()} WHERE id = 'o3'`,
    )
    expect(found).toEqual([{ total: 3, names: ['o3', 'c'], recent: true }])
    expect(letters.map(({ change }) => change.id).toSorted()).toEqual(['nul', 'o17'])
    for (const { error, change } of letters) {
      expect(error).toMatchObject({ code: 'ERR_SINK_REFUSED' })
      expect(error.message).toContain(`document "${change.id}"`)
    }
    const { rows: counted } = await pool.query(`SELECT count(*)::int AS count FROM ${quoted()}`)
    expect(counted).toEqual([{ count: 39 }])
  })

  test('what does not fit keeps nothing else of its batch from being written, wherever it stands', async () => {
    const long = Array.from({ length: 4_000 }, (_, n) => (n * n * 7_919).toString(36)).join('')
    const ids = ['a', 'b', 'big', 'nothing', long, 'm', 'throws', 'x', 'z']
    const sink = sinkInto({
      columns: {
        total: {
          type: 'numeric',
          value({ id, total }) {
            if (id === 'throws') throw new Error('no total')
            return id === 'nothing' ? 'nothing' : id === 'big' ? 5n : total
          },
        },
      },
    })
    await sink.open!({ identity: 'store/rid', description: 'shop/orders' }, {})
    const batch = ids.map((id) => entryOf(id, { lsn: 1, total: 1 }))
    const refused = { code: 'ERR_SINK_REFUSED' }
    await expect(sink.write(batch, contextOf())).rejects.toMatchObject(refused)
    for (const entry of batch.filter(({ id }) => id.length > 1)) {
      await expect(sink.write([entry], contextOf())).rejects.toMatchObject(refused)
    }
    const { rows: found } = await pool.query(`SELECT id FROM ${quoted()} ORDER BY id`)
    expect(found).toEqual(['a', 'b', 'm', 'x', 'z'].map((id) => ({ id })))
  })

  test('a server that is killed and comes back costs no change, and makes no dead letter', async () => {
    await using on = await stage()
    const letters: DeadLetter<Order>[] = []
    const worker = on.worker({
      sink: sinkInto(),
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
    expect(await rows()).toEqual(await documentsOf(on.orders))
    expect(letters).toEqual([])
  })

  test('a table that is filled from another collection, or lacks something, is refused at the start', async () => {
    await using on = await stage()
    await on.sync({ sink: sinkInto() })
    const other = await on.database.createCollectionIfNotExists<Order>({
      id: 'other',
      partitionKey: '/customer',
    })
    const target = { code: 'ERR_SINK_TARGET' }
    await expect(on.sync({ sink: sinkInto(), feed: other })).rejects.toMatchObject(target)
    const missing = sinkInto({ columns: { more: { type: 'text', value: ({ id }) => id } } })
    await expect(on.sync({ sink: missing })).rejects.toMatchObject(target)
    tables += 1
    table = `Or"ders ${tables}`
    await expect(on.sync({ sink: sinkInto({ create: false }) })).rejects.toMatchObject(target)
    for (const columns of [
      { lsn: { type: 'bigint', value: () => 1 } },
      { total: { type: 'text); DROP TABLE orders; --', value: () => 1 } },
    ]) {
      expect(() => sinkInto({ columns })).toThrow(/columns\./)
    }
    for (const columns of [null, [], 'total', { total: 'text' }, { total: { type: 'text' } }]) {
      expect(() => sinkInto({ columns: columns as never })).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
      )
    }
  })

  test('a table belongs to one collection, by whatever name, also as the first release stored it', async () => {
    await using on = await stage()
    const other = await on.database.createCollectionIfNotExists<Order>({
      id: 'other',
      partitionKey: '/customer',
    })
    const named = table.slice('public.'.length)
    const refused = { code: 'ERR_SINK_TARGET' }
    await on.sync({ sink: sinkInto({ table: named }) })
    await on.sync({ sink: sinkInto() })
    await expect(on.sync({ sink: sinkInto(), feed: other, group: 'other' })).rejects.toMatchObject(
      refused,
    )
    await pool.query('UPDATE public.tidemark_sinks SET target = $1 WHERE target = $2', [
      table,
      named,
    ])
    const again = on.sync({ sink: sinkInto({ table: named }), feed: other, group: 'other' })
    await expect(again).rejects.toMatchObject(refused)
    await on.sync({ sink: sinkInto({ table: named }) })
    // Another table, though it has the name.
    await pool.query('CREATE SCHEMA IF NOT EXISTS reports')
    await on.sync({ sink: sinkInto({ table: `reports.${named}` }), feed: other, group: 'other' })
  })

  test('workers that start at once make one table', async () => {
    await using on = await stage()
    await on.orders.upsert({ id: 'a', customer: 'c', total: 1 })
    const workers = Array.from({ length: 5 }, () => on.worker({ sink: sinkInto() }))
    await Promise.all(workers.map((worker) => worker.start()))
    await workers[0]!.caughtUp()
    expect(await rows()).toEqual(new Map([['c/a', 1]]))
  })
})
