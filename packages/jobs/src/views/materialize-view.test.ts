import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inTime } from '../in-time.fixture.ts'
import { average, count, latest, max, min, sum, top } from './folds/folds.ts'
import { materializeView } from './materialize-view.ts'
import { openView } from './open-view.ts'
import type { ViewEvent } from './view-events.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly total: number
}

let store: Store
let shop: Database
let orders: Collection<Order>

beforeEach(async () => {
  store = await openMemoryStore()
  shop = store.database('shop')
  orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: 2,
    allVersions: { retentionSeconds: 3600 },
  })
})
afterEach(() => store.close())

const fold = {
  orders: count<Order>(),
  total: sum((order: Order) => order.total),
  mean: average((order: Order) => order.total),
  least: min((order: Order) => order.total),
  most: max((order: Order) => order.total),
  best: top(
    2,
    (order: Order) => order.total,
    ({ id }) => id,
  ),
  last: latest(
    ({ id }: Order) => id,
    (order) => order.total,
  ),
}

describe('JB-3 a view', () => {
  test('applies nothing again that comes again, and says so', async () => {
    for (const [id, total] of [
      ['a', 1],
      ['b', 5],
      ['c', 3],
    ] as const) {
      await orders.upsert({ id, customer: 'x', total })
    }
    const applied: Extract<ViewEvent, { kind: 'applied' }>[] = []
    // Leases are lost between the two, so that the second reads everything once more.
    for (const time of ['first', 'second']) {
      await using job = materializeView({
        source: orders,
        target: { database: shop, id: 'customers' },
        leases: new MemoryLeaseStore(),
        by: ({ customer }) => customer,
        fold,
        onEvent: (event) => {
          if (time === 'second' && event.kind === 'applied') applied.push(event)
        },
      })
      await job.start()
      await job.caughtUp()
      expect(await job.view.read('x')).toMatchObject({ orders: 3, total: 9 })
    }
    const sumOf = (name: 'added' | 'updated' | 'moved' | 'removed' | 'replays'): number =>
      applied.reduce((so, event) => so + event[name], 0)
    expect(sumOf('replays')).toBeGreaterThanOrEqual(3)
    expect([sumOf('added'), sumOf('updated'), sumOf('moved'), sumOf('removed')]).toEqual([
      0, 0, 0, 0,
    ])
  })

  test('gets past a document that a fold does not take, when that is mended in the source', async () => {
    const failed = Promise.withResolvers<void>()
    await using job = materializeView({
      source: orders,
      target: { database: shop, id: 'customers' },
      leases: new MemoryLeaseStore(),
      by({ customer }) {
        if (customer === 'bad') throw new Error('no such customer')
        return customer
      },
      fold,
      onEvent: ({ kind }) => kind === 'failure' && failed.resolve(),
      hostOptions: { retryDelayMs: 1 },
    })
    await job.start()
    await orders.upsert({ id: 'a', customer: 'bad', total: 1 })
    await failed.promise
    await orders.upsert({ id: 'a', customer: 'x', total: 2 })
    await job.caughtUp()
    expect(await job.view.read('x')).toMatchObject({ orders: 1, total: 2 })
  })

  test('loses no expiry that waits when the log of deletes is turned on', async () => {
    const clock = new SimulatedClock()
    await using later = await openMemoryStore({ clock, maintenance: 'manual' })
    const database = later.database('shop')
    const source = await database.createCollectionIfNotExists<Order & { readonly ttl?: number }>({
      id: 'orders',
      partitionKey: '/id',
      defaultTtl: -1,
      pendingDeletes: { retentionSeconds: 3_600 },
    })
    const leases = new MemoryLeaseStore({ clock })
    const run = async () => {
      const target = { database, id: 'customers' }
      const by = ({ customer }: Order) => customer
      const job = materializeView({ source, target, leases, clock, by, fold })
      await inTime(clock, job.start())
      await inTime(clock, job.caughtUp())
      await inTime(clock, job.stop())
      return (await job.view.read('x'))?.orders
    }
    await source.upsert({ id: 'a', customer: 'x', total: 1 })
    await source.upsert({ id: 'b', customer: 'x', total: 1, ttl: 60 })
    expect(await run()).toBe(2)
    await clock.advance(61_000)
    await later.runMaintenance()
    await source.updateSettings({ allVersions: { retentionSeconds: 3_600 } })
    expect(await run()).toBe(1)
  })

  test('follows creates, updates, moves and deletes', async () => {
    await orders.upsert({ id: 'a', customer: 'x', total: 1 })
    await orders.upsert({ id: 'b', customer: 'x', total: 5 })
    await orders.upsert({ id: 'c', customer: 'x', total: 3 })
    await orders.upsert({ id: 'd', customer: 'y', total: 9 })
    await using job = materializeView({
      source: orders,
      target: { database: shop, id: 'customers' },
      leases: new MemoryLeaseStore(),
      by: ({ customer }) => customer,
      fold,
    })
    await job.start()
    await job.caughtUp()
    expect(await job.view.read('x')).toEqual({
      key: 'x',
      documents: 3,
      orders: 3,
      total: 9,
      mean: 3,
      least: 1,
      most: 5,
      best: ['b', 'c'],
      last: 'b',
    })
    await orders.upsert({ id: 'b', customer: 'y', total: 5 })
    await orders.delete('d', 'd')
    await orders.delete('a', 'a')
    await job.caughtUp()
    const view = openView(shop, 'customers')
    expect(await view.read('x')).toMatchObject({ orders: 1, total: 3, best: ['c'], least: 3 })
    expect(await view.read('y')).toMatchObject({ orders: 1, total: 5, best: ['b'], last: 'b' })
    await orders.delete('b', 'b')
    await job.caughtUp()
    expect(await view.read('y')).toBeUndefined()
    expect(await view.count()).toBe(1)
    expect(await job.progress()).toMatchObject({ state: 'caughtUp', keys: 1, documents: 1, lag: 0 })
  })

  test('another version is built beside it, and readers get it when it has caught up', async () => {
    for (let n = 0; n < 50; n += 1) await orders.upsert({ id: `o${n}`, customer: 'x', total: n })
    const leases = new MemoryLeaseStore()
    const events: ViewEvent[] = []
    const options = {
      source: orders,
      target: { database: shop, id: 'customers' },
      leases,
      by: ({ customer }: Order) => customer,
      progressIntervalMs: 10,
      onEvent: (event: ViewEvent) => events.push(event),
    }
    const old = materializeView({ ...options, fold: count<Order>() })
    await old.start()
    await old.caughtUp()
    expect(await old.view.read('x')).toEqual({ key: 'x', documents: 50, value: 50 })
    const next = materializeView({
      ...options,
      version: '2',
      replaced: 'drop',
      stopWhenCaughtUp: true,
      fold: { total: sum((order: Order) => order.total) },
    })
    await next.start()
    await next.finished
    expect(await old.view.read('x')).toEqual({ key: 'x', documents: 50, total: 1225 })
    await old.finished
    expect(events).toContainEqual({ kind: 'swapped', number: 2, version: '2' })
    expect(events).toContainEqual({ kind: 'replaced', version: '2' })
    const ids = (await shop.listCollections()).map(({ id }) => id)
    expect(ids).not.toContain('view-customers-1')
    const again = materializeView({ ...options, fold: count<Order>() })
    await expect(again.start()).rejects.toMatchObject({ code: 'ERR_VIEW_MISMATCH' })
  })

  test('a source without a log of deletes is told of once; marks and expiries still count', async () => {
    const plain = await shop.createCollectionIfNotExists<Order>({
      id: 'plain',
      partitionKey: '/id',
    })
    const common = {
      source: plain,
      target: { database: shop, id: 'plain' },
      leases: new MemoryLeaseStore(),
      by: ({ customer }: Order) => (customer === 'gone' ? undefined : customer),
      fold: count<Order>(),
    }
    const events: ViewEvent[] = []
    await using job = materializeView({ ...common, onEvent: (event) => events.push(event) })
    await plain.upsert({ id: 'a', customer: 'x', total: 1 })
    await plain.upsert({ id: 'b', customer: 'x', total: 1 })
    await job.start()
    expect(events).toContainEqual({ kind: 'deletesUnseen', source: 'shop/plain', isLogKept: false })
    await plain.upsert({ id: 'a', customer: 'gone', total: 1 })
    await plain.delete('b', 'b')
    await job.caughtUp()
    expect(await job.view.read('x')).toEqual({ key: 'x', documents: 1, value: 1 })
    const applying = materializeView({ ...common, deletes: 'apply' })
    await expect(applying.start()).rejects.toMatchObject({ code: 'ERR_ALL_VERSIONS_OFF' })
    const silent: ViewEvent[] = []
    await using ignoring = materializeView({
      ...common,
      deletes: 'ignore',
      onEvent: (event) => silent.push(event),
    })
    await ignoring.start()
    expect(silent.map(({ kind }) => kind)).not.toContain('deletesUnseen')
  })

  test('other folds or another source under the same version are refused', async () => {
    const common = {
      source: orders,
      target: { database: shop, id: 'customers' },
      leases: new MemoryLeaseStore(),
      by: ({ customer }: Order) => customer,
    }
    {
      await using job = materializeView({ ...common, fold: count<Order>() })
      await job.start()
    }
    const other = materializeView({
      ...common,
      fold: { total: sum((order: Order) => order.total) },
    })
    await expect(other.start()).rejects.toMatchObject({ code: 'ERR_VIEW_MISMATCH' })
    const source = await shop.createCollectionIfNotExists<Order>({ id: 'o', partitionKey: '/id' })
    const elsewhere = materializeView({ ...common, source, fold: count<Order>() })
    await expect(elsewhere.start()).rejects.toMatchObject({ code: 'ERR_VIEW_MISMATCH' })
    await expect(openView(shop, 'nobody').read('x')).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    })
  })

  test.each([
    [{ by: 'customer' }, 'by must be a function'],
    [{ fold: undefined }, 'fold must be a fold or an object of folds'],
    [{ target: { database: 1, id: 'x' } }, 'target.database must be a database of a store'],
    [{ source: {} }, 'source must be'],
    [{ deletes: 'log' }, 'deletes must be'],
    [{ maxItemCount: 0 }, 'maxItemCount must be'],
    [{ progressIntervalMs: 0 }, 'progressIntervalMs must be'],
    [{ folds: count() }, 'there is no option folds; did you mean fold?'],
  ])('wrong options are refused: %#', (wrong, message) => {
    const right = {
      source: orders,
      target: { database: shop, id: 'x' },
      leases: new MemoryLeaseStore(),
      by: () => 'x',
      fold: count<Order>(),
    }
    expect(() => materializeView({ ...right, ...wrong } as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringContaining(message) as string,
      }),
    )
  })
})
