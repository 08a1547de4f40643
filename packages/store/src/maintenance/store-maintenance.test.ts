import { StoreDamagedError } from '@tidemark/contracts'
import { SimulatedClock, openMemoryEngine } from '@tidemark/testing'
import { afterEach, describe, expect, test } from 'vitest'
import type { DatabaseEngine, StorageEngine } from '../engine/storage-engine.ts'
import type { StoreEventName } from '../events/store-events.ts'
import { Store, type StoreOptions } from '../store.ts'

const NAMES: readonly StoreEventName[] = [
  'maintenanceStarted',
  'maintenanceEnded',
  'swept',
  'purged',
  'maintenanceFailed',
  'listenerFailed',
]
const random = { fraction: () => 1, hex: (bytes: number) => 'ab'.repeat(bytes) }

describe('maintenance in the background', () => {
  const stores: Store[] = []
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
  })

  /** A store whose events are written down, over a memory engine unless it shares one. */
  async function open(options: Partial<StoreOptions> & { readonly clock: SimulatedClock }) {
    const engine = options.engine ?? openMemoryEngine({ clock: options.clock })
    const store = await Store.open({ random, ...options, engine })
    stores.push(store)
    const told: string[] = []
    for (const name of NAMES) {
      store.events.on(name, (event) =>
        told.push('cause' in event ? `${name} ${event.cause}` : name),
      )
    }
    return { store, engine, told }
  }

  async function fill(store: Store, { database = 'db', count = 1, ttl = 5 } = {}) {
    const collection = await store.database(database).createCollectionIfNotExists({
      id: 'coll',
      partitionKey: '/id',
      defaultTtl: ttl,
    })
    for (let n = 0; n < count; n++) await collection.create({ id: `d${n}` })
    return collection
  }

  test('TTL-5 sweeps by itself, at the second at which something expires', async () => {
    const clock = new SimulatedClock()
    const { store, told } = await open({ clock, maintenance: { intervalMs: 60_000 } })
    await fill(store, { ttl: 90 })
    await clock.advance(89_999)
    expect(told).toEqual([])
    await clock.advance(1)
    expect(told).toEqual(['maintenanceStarted', 'swept'])
    // With nothing to do the right is not renewed.
    await clock.advance(61_000)
    expect(told).toEqual(['maintenanceStarted', 'swept', 'maintenanceEnded lapsed'])
    expect(await store.runMaintenance()).toMatchObject({ swept: 0 })
  })

  test('TTL-5 pieces are small, and requests have their turn between them', async () => {
    const clock = new SimulatedClock()
    const maintenance = { intervalMs: 1000, maxItems: 2, pauseMs: 100 }
    const { store, told } = await open({ clock, maintenance })
    await fill(store, { count: 20 })
    await clock.advance(5000)
    told.length = 0
    await clock.advance(500)
    const pieces = told.filter((name) => name === 'swept').length
    expect(pieces).toBeGreaterThanOrEqual(3)
    expect(pieces).toBeLessThanOrEqual(6)
    await clock.advance(2000)
    expect(await store.runMaintenance()).toMatchObject({ swept: 0 })
  })

  test('a database that cannot be opened keeps no other from its turns, and is told by its name', async () => {
    const clock = new SimulatedClock()
    const engine = openMemoryEngine({ clock })
    {
      const before = await Store.open({ engine, clock, maintenance: 'manual' })
      for (const database of ['bad', 'good']) await fill(before, { database, ttl: 5 })
    }
    const openDatabase = engine.openDatabase.bind(engine)
    engine.openDatabase = async (id) => {
      if (id === 'bad') throw new StoreDamagedError(`the file of ${id} is damaged`)
      return openDatabase(id)
    }
    const { store, told } = await open({ clock, engine, maintenance: { intervalMs: 1000 } })
    const failed: (string | undefined)[] = []
    store.events.on('maintenanceFailed', ({ databaseId }) => failed.push(databaseId))
    await clock.advance(10_000)
    expect(told.filter((name) => name === 'swept')).toHaveLength(1)
    expect(new Set(failed)).toEqual(new Set(['bad']))
    const byHand = await Store.open({ engine, clock, maintenance: 'manual' })
    await fill(byHand, { database: 'good', ttl: 5 })
    await clock.advance(6000)
    await expect(byHand.runMaintenance()).rejects.toMatchObject({ code: 'ERR_STORE_DAMAGED' })
  })

  test('databases get their turns, whichever has more to do', async () => {
    const clock = new SimulatedClock()
    const maintenance = { intervalMs: 1000, maxItems: 1, pauseMs: 10 }
    const { store } = await open({ clock, maintenance })
    await fill(store, { database: 'large', count: 50 })
    await fill(store, { database: 'small', count: 5 })
    const order: string[] = []
    store.events.on('swept', ({ databaseId }) => order.push(databaseId))
    await clock.advance(10_000)
    expect(order).toHaveLength(55)
    expect(order.slice(0, 10).filter((id) => id === 'small').length).toBeGreaterThanOrEqual(4)
  })

  test('ST-10 of two stores one does it; when that one dies the other does after its lease', async () => {
    const clock = new SimulatedClock()
    const engine = unclosed(openMemoryEngine({ clock }))
    const maintenance = { intervalMs: 500, leaseMs: 10_000 }
    // Its own clock stops when it is killed; the engine's goes on.
    const killable = new SimulatedClock()
    const first = await open({ clock: killable, engine, maintenance })
    const collection = await fill(first.store, { count: 3 })
    const both = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 100) {
        await killable.advance(100)
        await clock.advance(100)
      }
    }
    await both(5500)
    const second = await open({
      clock,
      engine,
      maintenance,
      random: { ...random, hex: () => 'cd' },
    })
    await both(500)
    expect(first.told).toEqual(['maintenanceStarted', 'swept'])
    expect(second.told).toEqual([])
    expect(await second.store.runMaintenance()).toMatchObject({
      heldElsewhere: [{ databaseId: 'db', holder: `store-${random.hex(8)}` }],
    })
    await collection.upsert({ id: 'd0' })
    await clock.advance(8500)
    expect(second.told).toEqual([])
    await clock.advance(1500)
    expect(second.told).toEqual(['maintenanceStarted', 'swept'])
  })

  test('ST-10 when the one that does it dies and the clock is set back an hour, another does after the length of its lease, and no sooner', async () => {
    const clock = new SimulatedClock()
    const engine = unclosed(openMemoryEngine({ clock }))
    const maintenance = { intervalMs: 500, leaseMs: 10_000 }
    const killable = new SimulatedClock()
    const first = await open({ clock: killable, engine, maintenance })
    const collection = await fill(first.store, { count: 3 })
    for (let passed = 0; passed < 5500; passed += 100) {
      await killable.advance(100)
      await clock.advance(100)
    }
    expect(first.told).toEqual(['maintenanceStarted', 'swept'])
    await collection.upsert({ id: 'd0' })
    const database = await engine.openDatabase('db')
    await clock.advance(6000)
    // The store's clock has come so far, and goes on from here.
    expect((await database.readMaintenance()).tasks).toHaveLength(1)
    const holder = `store-${random.hex(8)}`
    clock.jumpWall(-3_600_000)
    const second = await open({
      clock,
      engine,
      maintenance,
      random: { ...random, hex: () => 'cd' },
    })
    await clock.advance(3000)
    // The first one is alive after all, and renews it.
    await database.maintain({ holder, leaseMs: 10_000, maxItems: 1 })
    await clock.advance(9900)
    expect(second.told).toEqual([])
    expect((await database.readMaintenance()).holder).toMatchObject({ name: holder })
    await clock.advance(1600)
    expect(second.told).toEqual(['maintenanceStarted', 'swept'])
  })

  test('a store that is closed gives the right back, so that another has it at once', async () => {
    const clock = new SimulatedClock()
    const engine = unclosed(openMemoryEngine({ clock }))
    const first = await open({ clock, engine, maintenance: { leaseMs: 1_000_000 } })
    await fill(first.store)
    await clock.advance(6000)
    expect(first.told).toEqual(['maintenanceStarted', 'swept'])
    await first.store.close()
    await first.store.close()
    expect(first.told.at(-1)).toBe('maintenanceEnded released')
    expect(clock.sleeping).toBe(0)
    const second = await open({ clock, engine, maintenance: 'manual' })
    await fill(second.store, { database: 'db', count: 0 })
    await second.store.database('db').collection('coll').upsert({ id: 'x' })
    await clock.advance(5000)
    expect(await second.store.runMaintenance()).toMatchObject({ swept: 1, heldElsewhere: [] })
    expect(second.told).toEqual(['maintenanceStarted', 'swept', 'maintenanceEnded released'])
    await expect(first.store.runMaintenance()).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
  })

  test('what fails is told, tried again later and later, and ends nothing', async () => {
    const clock = new SimulatedClock()
    const memory = openMemoryEngine({ clock })
    const failure = new Error('the disk is full')
    let failing = true
    const engine: StorageEngine = {
      ...unclosed(memory),
      openDatabase: async (id) => {
        const database = await memory.openDatabase(id)
        const fails = async (...args: Parameters<DatabaseEngine['maintain']>) => {
          if (failing) throw failure
          return database.maintain(...args)
        }
        return new Proxy(database, {
          get: (target, name) => {
            if (name === 'maintain') return fails
            const value: unknown = Reflect.get(target, name, target)
            return typeof value === 'function' ? (value.bind(target) as unknown) : value
          },
        })
      },
    }
    const { store, told } = await open({ clock, engine })
    await fill(store)
    const failures: unknown[] = []
    store.events.on('maintenanceFailed', (event) => failures.push(event))
    await clock.advance(65_000)
    expect(failures.length).toBeGreaterThanOrEqual(4)
    expect(failures.length).toBeLessThanOrEqual(12)
    expect(failures[0]).toEqual({
      databaseId: 'db',
      collectionId: 'coll',
      work: 'sweep',
      error: failure,
      retryInMs: 1000,
    })
    await expect(store.runMaintenance()).rejects.toBe(failure)
    failing = false
    told.length = 0
    await clock.advance(120_000)
    expect(told).toContain('swept')
    expect(told).not.toContain('maintenanceFailed')
  })

  test('ST-9 TTL-5 a range that outgrows its size is split in the background, and none is measured in vain', async () => {
    // A range is measured piece by piece, with a turn of the event loop after each.
    const clock = new SimulatedClock({ settleTurns: 10 })
    const memory = openMemoryEngine({ clock })
    const measured: number[] = []
    const engine: StorageEngine = {
      ...unclosed(memory),
      openDatabase: async (id) => {
        const database = await memory.openDatabase(id)
        return new Proxy(database, {
          get: (target, name) => {
            if (name === 'measureRange') {
              return (...args: Parameters<DatabaseEngine['measureRange']>) => {
                measured.push(args[1])
                return target.measureRange(...args)
              }
            }
            const value: unknown = Reflect.get(target, name, target)
            return typeof value === 'function' ? (value.bind(target) as unknown) : value
          },
        })
      },
    }
    const { store } = await open({ clock, engine, maintenance: { splitCheckMs: 5000 } })
    const collection = await store.database('db').createCollectionIfNotExists<Sized>({
      id: 'coll',
      partitionKey: '/id',
      splitAboveBytes: 2 ** 20,
    })
    const write = async (from: number, count: number): Promise<void> => {
      const text = 'x'.repeat(10_000)
      for (let n = from; n < from + count; n++) await collection.create({ id: `d${n}`, text })
    }
    await write(0, 50)
    await clock.advance(60_000)
    expect([measured.length, (await collection.readFeedRanges()).length]).toEqual([1, 1])
    await write(50, 5)
    await clock.advance(60_000)
    expect(measured).toHaveLength(1)
    await write(55, 70)
    await clock.advance(10_000)
    expect(await collection.readFeedRanges()).toHaveLength(2)
    // Once when it was too large, then each child.
    expect(measured).toHaveLength(4)
    await clock.advance(60_000)
    expect(measured).toHaveLength(4)
  })

  test('a listener that throws disturbs nothing but is told of', async () => {
    const clock = new SimulatedClock()
    const { store, told } = await open({ clock })
    store.events.on('swept', () => {
      throw new Error('mine')
    })
    store.events.on('listenerFailed', () => {
      throw new Error('this one too')
    })
    await fill(store)
    await clock.advance(6000)
    expect(told.filter((name) => name === 'listenerFailed')).toHaveLength(1)
    expect(await store.runMaintenance()).toMatchObject({ swept: 0 })
  })

  test('databases that come and go are no trouble', async () => {
    const clock = new SimulatedClock()
    const { store, told } = await open({ clock })
    await fill(store)
    await clock.advance(2000)
    await store.deleteDatabase('db')
    await clock.advance(10_000)
    await fill(store)
    await clock.advance(10_000)
    expect(told.filter((name) => name === 'swept')).toHaveLength(1)
    expect(told).not.toContain('maintenanceFailed')
  })

  test('manual: nothing is done, and nothing sleeps, until it is asked for', async () => {
    const clock = new SimulatedClock()
    const { store, told } = await open({ clock, maintenance: 'manual' })
    await fill(store, { count: 3 })
    await clock.advance(100_000)
    expect([told, clock.sleeping]).toEqual([[], 0])
    expect(await store.runMaintenance()).toMatchObject({ swept: 3 })
  })

  test('options out of their range are refused', async () => {
    const clock = new SimulatedClock()
    for (const maintenance of [
      { intervalMs: 0 },
      { leaseMs: -1 },
      { maxItems: 1.5 },
      { pauseMs: -1 },
      { splitCheckMs: Number.NaN },
      'never' as 'manual',
      null as unknown as 'manual',
    ]) {
      await expect(open({ clock, maintenance })).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringContaining('maintenance'),
      })
    }
  })
})

interface Sized {
  readonly id: string
  readonly text: string
}

/** The same engine, which the stores over it do not close. */
function unclosed(engine: StorageEngine): StorageEngine {
  return {
    description: engine.description,
    storeId: engine.storeId,
    supports: engine.supports,
    listDatabases: () => engine.listDatabases(),
    readDatabase: (id) => engine.readDatabase(id),
    createDatabase: (id, options) => engine.createDatabase(id, options),
    annotateDatabase: (...args) => engine.annotateDatabase(...args),
    deleteDatabase: (id) => engine.deleteDatabase(id),
    openDatabase: (id) => engine.openDatabase(id),
    close: () => Promise.resolve(),
  }
}
