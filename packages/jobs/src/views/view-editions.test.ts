import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inTime } from '../in-time.fixture.ts'
import { count } from './folds/folds.ts'
import { materializeView } from './materialize-view.ts'
import { openView } from './open-view.ts'
import type { ViewEvent } from './view-events.ts'
import { ViewRecords } from './view-records.ts'
import { dropView } from './view-status.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly country: string
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
    allVersions: { retentionSeconds: 3600 },
  })
  await orders.upsert({ id: 'a', customer: 'x', country: 'fr' })
  await orders.upsert({ id: 'b', customer: 'x', country: 'fr' })
})
afterEach(() => store.close())

const common = () => ({
  source: orders,
  target: { database: shop, id: 'orders' },
  leases: new MemoryLeaseStore(),
  by: ({ customer }: Order) => customer,
  fold: count<Order>(),
  progressIntervalMs: 10,
})

const PATIENT = { timeout: 20_000, interval: 20 }

/** Resolves when the worker tells of this. */
function toldOf(kind: ViewEvent['kind']) {
  const told = Promise.withResolvers<ViewEvent>()
  const onEvent = (event: ViewEvent): void => {
    if (event.kind === kind) told.resolve(event)
  }
  return { onEvent, told: told.promise }
}

async function builtAgain(options: ReturnType<typeof common>): Promise<void> {
  const rebuild = materializeView({
    ...options,
    rebuild: true,
    stopWhenCaughtUp: true,
  })
  await rebuild.start()
  await rebuild.finished
}

/** Does something else when a method is called, or something more. */
function disturbed<Target extends object>(
  target: Target,
  method: keyof Target,
  instead: (call: () => unknown, argument: unknown) => unknown,
): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(value, target, args)
        return name === method ? instead(call, args[0]) : call()
      }
    },
  })
}

describe('JB-3 editions of a view', () => {
  test('a worker that fails to follow a rebuild tries again', async () => {
    const options = common()
    let failures = 0
    const database = disturbed(shop, 'createCollectionIfNotExists', (call, made) => {
      const isNext = (made as { readonly id: string }).id === 'view-orders-2'
      if (!isNext || failures > 0) return call()
      failures += 1
      throw new Error('the connection was lost')
    })
    const { onEvent, told } = toldOf('failure')
    const target = { ...options.target, database }
    await using worker = materializeView({ ...options, target, onEvent })
    await worker.start()
    await worker.caughtUp()
    await builtAgain(options)
    await told
    await orders.upsert({ id: 'c', customer: 'x', country: 'fr' })
    await expect.poll(() => worker.view.read('x'), PATIENT).toMatchObject({ value: 3 })
    expect(failures).toBe(1)
  })

  test('a build becomes current while writes go on, also where the source is polled slowly', async () => {
    const clock = new SimulatedClock()
    await using slow = await openMemoryStore({ clock, maintenance: 'manual' })
    const database = slow.database('shop')
    const kept = await database.createCollectionIfNotExists<Order>({
      id: 'orders',
      partitionKey: '/id',
    })
    let written = 0
    const write = () => kept.upsert({ id: `w${written++}`, customer: 'x', country: 'fr' })
    await write()
    const source = new Proxy(kept, {
      get(target, name) {
        if (name === 'waitForChanges') return undefined
        if (name === 'supports') return { ...target.supports, waiting: false }
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return async (...args: readonly unknown[]): Promise<unknown> => {
          if (name === 'resolveStart' && Reflect.get(args[0]!, 'start') === 'now') {
            // Something is left to do whenever the build asks whether it has caught up, and its host rests.
            await clock.sleep(100, new AbortController().signal)
            await write()
          }
          return Reflect.apply(value, target, args)
        }
      },
    })
    const options = {
      ...common(),
      source,
      target: { database, id: 'orders' },
      leases: new MemoryLeaseStore({ clock }),
      clock,
      deletes: 'ignore',
      hostOptions: { feedPollDelayMs: 3_000 },
    } as const
    const first = materializeView(options)
    await inTime(clock, first.start())
    await inTime(clock, first.stop())
    const { onEvent, told } = toldOf('swapped')
    const second = materializeView({ ...options, version: '2', onEvent })
    await inTime(clock, second.start())
    await inTime(clock, told)
    await inTime(clock, second.stop())
  })

  test('a rebuilt view and one with a name like its edition do not share leases', async () => {
    const leases = new MemoryLeaseStore()
    const options = { ...common(), leases }
    const target = { database: shop, id: 'orders-2' }
    await using other = materializeView({ ...options, target })
    await other.start()
    await using worker = materializeView(options)
    await worker.start()
    await builtAgain(options)
    await orders.upsert({ id: 'c', customer: 'x', country: 'fr' })
    await expect.poll(() => worker.view.read('x'), PATIENT).toMatchObject({ value: 3 })
    await expect.poll(() => other.view.read('x'), PATIENT).toMatchObject({ value: 3 })
  })

  test('views of one name in two databases do not share leases', async () => {
    const options = common()
    const there = { database: store.database('other'), id: 'orders' }
    const groups = await Promise.all(
      [options.target, there].map(async (target) => {
        const opened = new Set<unknown>()
        const leases = disturbed(options.leases, 'openGroup', (open, group) => {
          opened.add(group)
          return open()
        })
        await using worker = materializeView({ ...options, target, leases })
        await worker.start()
        return opened
      }),
    )
    expect(groups.map(({ size }) => size)).toEqual([2, 2])
    expect(new Set(groups.flatMap((opened) => [...opened])).size).toBe(4)
    // What is deleted while documents are read for the first time must come, too.
    expect([...(groups[0] ?? [])]).toEqual(['view-shop/orders/deletes', 'view-shop/orders'])
  })

  test('a worker that is to stop when it has caught up does so on the edition that came meanwhile', async () => {
    const options = common()
    const database = disturbed(shop, 'commitAtomically', (commit, writes) => {
      const [first] = writes as readonly { readonly collection: { readonly id: string } }[]
      if (first?.collection.id.startsWith('view-orders-1')) throw new Error('no connection')
      return commit()
    })
    const target = { ...options.target, database }
    const worker = materializeView({ ...options, target, stopWhenCaughtUp: true })
    await worker.start()
    await builtAgain(options)
    await worker.finished
    expect(await worker.view.read('x')).toMatchObject({ value: 2 })
  })

  test('a worker of a view that was dropped does not work on the next of that name', async () => {
    const options = common()
    const { onEvent, told } = toldOf('replaced')
    const old = materializeView({ ...options, progressIntervalMs: 100, onEvent })
    await old.start()
    await old.caughtUp()
    expect(await dropView(shop, 'orders')).toBe(true)
    expect(await dropView(shop, 'orders')).toBe(false)
    expect(await new ViewRecords(shop).list()).toEqual([])
    await expect(openView(shop, 'orders').read('x')).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    })
    await using next = materializeView({ ...options, by: ({ country }) => country })
    await next.start()
    await next.caughtUp()
    await told
    await old.finished
    await orders.upsert({ id: 'c', customer: 'x', country: 'fr' })
    await next.caughtUp()
    expect(await next.view.read('fr')).toMatchObject({ value: 3 })
    expect(await next.view.count()).toBe(1)
  })

  test('the number of a build that was dropped is not used again', async () => {
    const records = new ViewRecords(shop)
    const wanted = { source: orders.identity, folds: '' }
    const claim = (version: string) =>
      records.claim('orders', { ...wanted, version }, { rebuild: false, follows: false })
    await claim('1')
    expect(await claim('2')).toMatchObject({ edition: { number: 2 }, role: 'building' })
    await expect(claim('3')).rejects.toThrow('tidemark views drop --only building')
    expect(await records.dropSome('orders', 'building')).toMatchObject([{ number: 2 }])
    expect(await claim('3')).toMatchObject({ edition: { number: 3 }, role: 'building' })
  })

  test('a build that readers get while it is to be dropped stays', async () => {
    const records = new ViewRecords(shop)
    const wanted = { source: orders.identity, folds: '' }
    await records.claim('orders', { ...wanted, version: '1' }, { rebuild: false, follows: false })
    const { edition } = await records.claim(
      'orders',
      { ...wanted, version: '2' },
      { rebuild: false, follows: false },
    )
    await shop.createCollectionIfNotExists({ id: 'view-orders-2', partitionKey: '/key' })
    let reads = 0
    const listed = disturbed(shop.collection('tidemark-views'), 'read', async (read) => {
      const found = await read()
      if (++reads === 1) await records.swap('orders', edition)
      return found
    })
    const racing = disturbed(shop, 'collection', () => listed)
    expect(await dropView(racing, 'orders', { only: 'building' })).toBe(false)
    expect(await records.read('orders')).toMatchObject({ current: { number: 2 } })
    expect((await shop.listCollections()).map(({ id }) => id)).toContain('view-orders-2')
  })

  test('deletes that came while no leases were kept are read from the log', async () => {
    const once = async (): Promise<void> => {
      const worker = materializeView({ ...common(), stopWhenCaughtUp: true })
      await worker.start()
      await worker.finished
    }
    await once()
    await orders.delete('a', 'a')
    await once()
    expect(await openView(shop, 'orders').read('x')).toMatchObject({ value: 1 })
  })
})
