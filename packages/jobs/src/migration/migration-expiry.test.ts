import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DocumentBody, LeaseStore } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { type Collection, type Database } from '@tidemark/store'
import { SimulatedClock, openMemoryStore } from '@tidemark/testing'
import { verifyMigration } from '../verification/verify-migration.ts'
import { migrateCollection, type Migration } from './migrate-collection.ts'
import type { MigrationOptions } from './migration-options.ts'
import { inTime } from '../in-time.fixture.ts'

interface City extends DocumentBody {
  readonly country: string
  readonly name: string
  readonly ttl?: number
}

let clock: SimulatedClock
let store: Store
let database: Database
let source: Collection<City>
let leases: LeaseStore
let running: Migration<City>[]

beforeEach(async () => {
  clock = new SimulatedClock()
  store = await openMemoryStore({ clock, maintenance: 'manual' })
  database = store.database('world')
  source = await openSource({ defaultTtl: -1 })
  leases = new MemoryLeaseStore({ clock })
  running = []
})

afterEach(async () => {
  for (const migration of running) await inTime(clock, migration.stop())
  await store.close()
})

function openSource(settings: { defaultTtl: number | null }): Promise<Collection<City>> {
  return database.createCollectionIfNotExists<City>({
    id: `cities${settings.defaultTtl}`,
    partitionKey: '/country',
    partitionCount: 2,
    pendingDeletes: { retentionSeconds: 60 },
    ...settings,
  })
}

const keep = (city: City): City => city

async function started(
  options: Partial<MigrationOptions<City, City>> = {},
): Promise<Migration<City>> {
  const migration = migrateCollection<City, City>({
    job: 'by-name',
    hostName: 'worker-1',
    source,
    target: { database, id: 'byName', partitionKey: '/name' },
    leases,
    mapDocument: keep,
    logger: false,
    clock,
    ...options,
  })
  running.push(migration)
  await inTime(clock, migration.start())
  return migration
}

async function keys(collection: Collection<City>): Promise<readonly string[]> {
  const { documents } = await collection.readDocuments()
  return documents.map(({ name, id }) => `${name}/${id}`).toSorted()
}

/** Epoch second at which a document expires. */
async function expiry(
  collection: Collection<City>,
  id: string,
  partitionKey: string,
): Promise<number | undefined> {
  const { document } = await collection.read(id, partitionKey)
  const { defaultTtl } = (await collection.readRecord()).definition
  const ttl = document?.ttl ?? defaultTtl ?? -1
  return document === undefined || ttl === -1 ? undefined : document._ts + ttl
}

function city(id: string, name: string, ttl?: number): City {
  return { id, country: 'FR', name, ...(ttl !== undefined && { ttl }) }
}

async function verified(target: Collection<City>, mapDocument = keep): Promise<object> {
  return verifyMigration({ source, target, mapDocument })
}

describe('JB-2 a migration carries expiry', () => {
  test('JB-2 the copy expires at the instant of its source, however late it was made', async () => {
    await source.upsert(city('1', 'Paris', 100))
    await source.upsert(city('2', 'Lyon'))
    const expected = await expiry(source, '1', 'FR')
    await clock.advance(40_500)
    const { target, cutOver } = await startedCopy()
    await inTime(clock, cutOver())
    expect(await expiry(target, '1', 'Paris')).toBe(expected)
    expect(await expiry(target, '2', 'Lyon')).toBeUndefined()
    expect(await verified(target)).toMatchObject({ same: true, expected: 2 })

    await clock.advance((expected ?? 0) * 1000 - clock.wallMs() - 1)
    expect(await keys(source)).toEqual(['Lyon/2', 'Paris/1'])
    expect(await keys(target)).toEqual(['Lyon/2', 'Paris/1'])
    await clock.advance(1)
    expect(await keys(source)).toEqual(['Lyon/2'])
    expect(await keys(target)).toEqual(['Lyon/2'])
    expect(await verified(target)).toMatchObject({ same: true, expected: 1 })
  })

  test('JB-2 an update restarts the countdown of both', async () => {
    await source.upsert(city('1', 'Paris', 100))
    const { target, cutOver } = await startedCopy()
    await inTime(clock, cutOver())
    await clock.advance(50_000)
    await source.upsert(city('1', 'Paris', 100))
    await inTime(clock, cutOver())
    expect(await expiry(target, '1', 'Paris')).toBe(await expiry(source, '1', 'FR'))
    await source.upsert(city('1', 'Paris'))
    await inTime(clock, cutOver())
    expect(await expiry(target, '1', 'Paris')).toBeUndefined()
    await clock.advance(200_000)
    expect(await verified(target)).toMatchObject({ same: true, expected: 1 })
  })

  test('JB-2 the default of the source is carried, also into a target with another one', async () => {
    source = await openSource({ defaultTtl: 100 })
    const other = { id: 'byName', partitionKey: '/name', defaultTtl: 5 }
    await database.createCollection(other)
    await source.upsert(city('1', 'Paris'))
    await source.upsert(city('2', 'Lyon', -1))
    await source.upsert(city('3', 'Nice', 50))
    const { target, cutOver } = await startedCopy()
    await inTime(clock, cutOver())
    for (const [id, name] of [
      ['1', 'Paris'],
      ['2', 'Lyon'],
      ['3', 'Nice'],
    ] as const) {
      expect(await expiry(target, id, name)).toBe(await expiry(source, id, 'FR'))
    }
    await clock.advance(20_000)
    expect(await keys(target)).toEqual(['Lyon/2', 'Nice/3', 'Paris/1'])
    expect(await verified(target)).toMatchObject({ same: true })
  })

  test('JB-2 what has expired is not copied, swept or not', async () => {
    await source.upsert(city('1', 'Paris', 1))
    await source.upsert(city('2', 'Lyon', 5))
    await clock.advance(2_000)
    await store.runMaintenance()
    await clock.advance(4_000)
    const { target, cutOver } = await startedCopy()
    const progress = await inTime(clock, cutOver())
    expect(await keys(target)).toEqual([])
    expect(progress).toMatchObject({ documents: 0, lag: 0, remaining: 0 })
    expect((await target.readExpiry()).pendingDeletes).toBe(0)
  })

  test('JB-2 pending deletes keep no lag, and nothing is remembered of what has expired', async () => {
    await source.upsert(city('1', 'Paris', 10))
    const { migration, target, cutOver } = await startedCopy()
    await inTime(clock, cutOver())
    const state = database.collection('migration-by-name')
    const remembered = await state.count()
    await clock.advance(11_000)
    await store.runMaintenance()
    expect(await inTime(clock, cutOver())).toMatchObject({ lag: 0, expired: 1, remaining: 0 })
    expect(await state.count()).toBe(remembered - 1)
    await source.upsert(city('1', 'Paris', 10))
    await inTime(clock, cutOver())
    expect(await keys(target)).toEqual(['Paris/1'])
    expect((await migration.progress()).documents).toBe(2)
  })

  test('JB-2 a copy in a store whose clock is behind is removed by the pending delete', async () => {
    const behind = new SimulatedClock({ startWallMs: clock.wallMs() - 50_000 })
    await using other = await openMemoryStore({ clock: behind, maintenance: 'manual' })
    await source.upsert(city('1', 'Paris', 10))
    const target = { database: other.database('world'), id: 'byName', partitionKey: '/name' }
    const { migration, cutOver } = await startedCopy({ target })
    await inTime(clock, cutOver())
    expect(await keys(migration.target)).toEqual(['Paris/1'])
    await clock.advance(11_000)
    await store.runMaintenance()
    await inTime(clock, cutOver())
    expect(await keys(migration.target)).toEqual([])
    await inTime(clock, migration.stop())
  })

  test('JB-2 a worker that was away for longer than the retention reads again, and both sides say the same', async () => {
    for (let n = 0; n < 20; n += 1) await source.upsert(city(`${n}`, `N${n}`, n < 10 ? 30 : -1))
    const first = await startedCopy()
    await inTime(clock, first.cutOver())
    await inTime(clock, first.migration.stop())
    await clock.advance(31_000)
    await store.runMaintenance()
    await clock.advance(61_000)
    expect((await store.runMaintenance()).purged).toBe(10)
    await source.upsert(city('3', 'N3', 500))
    const { target, cutOver } = await startedCopy({ hostName: 'worker-2' })
    await inTime(clock, cutOver())
    expect(await verified(target)).toMatchObject({ same: true, expected: 11 })
  })
})

describe('target keys of copies that expire', () => {
  /** Names are the ids of the target: two cities of one name want one key. */
  const byName = (one: City): City => ({ ...one, id: one.name })

  test('a key whose holder has expired goes to the next that wants it, and the pending delete leaves that one alone', async () => {
    await source.upsert(city('1', 'Paris', 10))
    const { target, cutOver } = await startedCopy({ mapDocument: byName })
    await inTime(clock, cutOver())
    await clock.advance(10_000)
    // Not swept yet: the pending delete comes after this one.
    await source.upsert({ id: '2', country: 'US', name: 'Paris' })
    await inTime(clock, cutOver())
    expect(await target.read('Paris', 'Paris')).toMatchObject({ document: { country: 'US' } })
    await store.runMaintenance()
    expect(await inTime(clock, cutOver())).toMatchObject({ collisions: 0, waiting: 0, expired: 1 })
    expect(await target.read('Paris', 'Paris')).toMatchObject({ document: { country: 'US' } })
    expect(await verified(target, byName)).toMatchObject({ same: true })
  })

  test('one that waits gets the key when its holder expires', async () => {
    await source.upsert(city('1', 'Paris', 10))
    const { target, cutOver } = await startedCopy({ mapDocument: byName })
    await inTime(clock, cutOver())
    await source.upsert({ id: '2', country: 'US', name: 'Paris', ttl: 500 })
    expect(await inTime(clock, cutOver())).toMatchObject({ collisions: 1, waiting: 1 })
    await clock.advance(10_000)
    await store.runMaintenance()
    expect(await inTime(clock, cutOver())).toMatchObject({ waiting: 0, collisionsResolved: 1 })
    expect(await verified(target, byName)).toMatchObject({ same: true, expected: 1 })
  })

  test('one that waits and expires leaves the queue', async () => {
    await source.upsert(city('1', 'Paris'))
    const { target, cutOver } = await startedCopy({ mapDocument: byName })
    await inTime(clock, cutOver())
    await source.upsert({ id: '2', country: 'US', name: 'Paris', ttl: 10 })
    await inTime(clock, cutOver())
    await clock.advance(10_000)
    await store.runMaintenance()
    expect(await inTime(clock, cutOver())).toMatchObject({ waiting: 0, expired: 1 })
    expect(await target.read('Paris', 'Paris')).toMatchObject({ document: { country: 'FR' } })
    expect(await verified(target, byName)).toMatchObject({ same: true })
  })

  test('a document that comes back after it expired does not take its key from whoever has it since', async () => {
    await source.upsert(city('1', 'Paris', 10))
    const { target, cutOver } = await startedCopy({ mapDocument: byName })
    await inTime(clock, cutOver())
    await clock.advance(10_000)
    await source.upsert({ id: '2', country: 'US', name: 'Paris' })
    await inTime(clock, cutOver())
    await source.upsert(city('1', 'Paris', 500))
    expect(await inTime(clock, cutOver())).toMatchObject({ waiting: 1 })
    expect(await target.read('Paris', 'Paris')).toMatchObject({ document: { country: 'US' } })
    await source.upsert({ id: '2', country: 'US', name: 'Dallas' })
    expect(await inTime(clock, cutOver())).toMatchObject({ waiting: 0 })
    expect(await verified(target, byName)).toMatchObject({ same: true, expected: 2 })
  })
})

describe('deletes: "apply"', () => {
  beforeEach(async () => {
    source = await database.createCollectionIfNotExists<City>({
      id: 'logged',
      partitionKey: '/country',
      partitionCount: 2,
      defaultTtl: -1,
      allVersions: { retentionSeconds: 3_600 },
      pendingDeletes: { retentionSeconds: 60 },
    })
  })

  test('JB-2 CF-11 what is deleted in the source is removed from the target, and only that', async () => {
    for (let n = 0; n < 20; n += 1) await source.upsert(city(`${n}`, `N${n}`))
    const { target, cutOver } = await startedCopy({ deletes: 'apply' })
    await inTime(clock, cutOver())
    for (let n = 0; n < 10; n += 1) await source.delete(`${n}`, 'FR')
    await source.upsert(city('3', 'N3'))
    const progress = await inTime(clock, cutOver())
    expect(progress).toMatchObject({ lag: 0, remaining: 0 })
    // Whether the one that came back was deleted in between depends on who was first.
    expect(progress.documents - progress.deleted).toBe(11)
    expect(await target.count()).toBe(11)
    expect(await verified(target)).toMatchObject({ same: true, extra: { count: 0 } })
  })

  test('JB-2 a delete that is applied before the version it deletes leaves nothing behind', async () => {
    await source.upsert(city('1', 'Paris'))
    await source.upsert(city('2', 'Lyon'))
    let held: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>()
    const slow = async (one: City): Promise<City> => {
      await held?.promise
      return one
    }
    const { target, cutOver } = await startedCopy({ deletes: 'apply', mapDocument: slow })
    // The page with Paris is in the copier's hand.
    await clock.advance(1_000)
    await source.delete('1', 'FR')
    await clock.advance(1_000)
    held.resolve()
    held = undefined
    await inTime(clock, cutOver())
    expect(await keys(target)).toEqual(['Lyon/2'])
    await source.upsert(city('1', 'Paris'))
    await inTime(clock, cutOver())
    expect(await keys(target)).toEqual(['Lyon/2', 'Paris/1'])
  })

  test('JB-2 a worker that comes later applies what was deleted while none ran', async () => {
    for (let n = 0; n < 10; n += 1) await source.upsert(city(`${n}`, `N${n}`))
    const first = await startedCopy({ deletes: 'apply' })
    await inTime(clock, first.cutOver())
    await inTime(clock, first.migration.stop())
    await source.delete('1', 'FR')
    const [range] = await source.readFeedRanges()
    await source.split(range?.id ?? '', { at: '10' })
    await source.delete('2', 'FR')
    const second = await startedCopy({ deletes: 'apply', hostName: 'worker-2' })
    await inTime(clock, second.cutOver())
    expect(await verified(second.target)).toMatchObject({ same: true, expected: 8 })
  })

  test('a source without a log of all versions: ERR_ALL_VERSIONS_OFF, and nothing is made', async () => {
    source = await openSource({ defaultTtl: -1 })
    await expect(started({ deletes: 'apply' })).rejects.toMatchObject({
      code: 'ERR_ALL_VERSIONS_OFF',
    })
    running = []
    const ids = (await database.listCollections()).map(({ id }) => id)
    expect(ids.includes('byName')).toBe(false)
  })
})

describe('targets and options', () => {
  test('a target that is created has TTL on iff the source has; what is given wins', async () => {
    const { target } = await startedCopy()
    expect((await target.readRecord()).definition.defaultTtl).toBe(-1)
    const given = { database, id: 'other', partitionKey: '/name', defaultTtl: 700 }
    const other = await startedCopy({ job: 'two', target: given })
    expect((await other.target.readRecord()).definition.defaultTtl).toBe(700)
    source = await openSource({ defaultTtl: null })
    const off = { database, id: 'off', partitionKey: '/name' }
    const third = await startedCopy({ job: 'three', target: off })
    expect((await third.target.readRecord()).definition.defaultTtl).toBeNull()
  })

  test('a target with TTL off is ERR_MIGRATION_TARGET and says what to do; "ignore" copies into it', async () => {
    await database.createCollection({ id: 'byName', partitionKey: '/name' })
    await source.upsert(city('1', 'Paris', 10))
    await expect(started()).rejects.toMatchObject({
      code: 'ERR_MIGRATION_TARGET',
      message: expect.stringMatching(/TTL off.*defaultTtl to -1.*"ignore"/),
    })
    running = []
    const { target, cutOver } = await startedCopy({ expiry: 'ignore' })
    await inTime(clock, cutOver())
    await clock.advance(11_000)
    await store.runMaintenance()
    expect(await inTime(clock, cutOver())).toMatchObject({ lag: 0 })
    expect(await keys(target)).toEqual(['Paris/1'])
    const report = await verifyMigration({ source, target, mapDocument: keep, expiry: 'ignore' })
    expect(report).toMatchObject({ same: false, extra: { count: 1 } })
  })

  test('an option that is none: ERR_INVALID_OPTION', () => {
    const expiry = 'maybe' as 'carry'
    expect(() =>
      migrateCollection({
        job: 'j',
        hostName: 'h',
        source,
        target: { database, id: 'x' },
        leases,
        mapDocument: keep,
        expiry,
      }),
    ).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  })

  test('verify finds a copy that expires at another instant, and not what expires while it reads', async () => {
    for (let n = 0; n < 10; n += 1) await source.upsert(city(`${n}`, `N${n}`, 100))
    const { target, cutOver, migration } = await startedCopy()
    await inTime(clock, cutOver())
    await inTime(clock, migration.stop())
    await target.upsert(city('3', 'N3', 700))
    expect(await verified(target)).toMatchObject({ different: { count: 1 }, missing: { count: 0 } })
    await target.delete('3', 'N3')
    expect(await verified(target)).toMatchObject({ different: { count: 0 }, missing: { count: 1 } })
    await source.delete('3', 'FR')
    // Everything expires after the source was read, before the target is.
    let passing: Promise<void> | undefined
    const late = async (one: City): Promise<City> => {
      passing ??= clock.advance(100_000)
      await passing
      return one
    }
    const report = await verifyMigration({ source, target, mapDocument: late })
    expect(report).toMatchObject({ same: true, expected: 0, targetDocuments: 0 })
  })
})

describe('ST-9 a source that is split and merged meanwhile', () => {
  test('LE-10 every document is copied once, in its newest version, and every expiry carried', async () => {
    const ttl = (n: number): number => (n % 3 === 0 ? 60 : 5_000)
    const write = (n: number): Promise<unknown> =>
      source.upsert({ id: `${n % 7}-${n}`, country: `c${n % 7}`, name: `N${n % 5}`, ttl: ttl(n) })
    for (let n = 0; n < 60; n += 1) await write(n)
    const { migration, target, cutOver } = await startedCopy({ maxItemCount: 5 })
    for (let round = 0; round < 4; round += 1) {
      const ranges = await source.readFeedRanges()
      await source.split(ranges[round % ranges.length]?.id ?? '')
      for (let n = 0; n < 40; n += 1) await write(n * 7 + round)
      await clock.advance(round * 1_000)
      const [a, b] = await source.readFeedRanges()
      if (round % 2 === 1) await source.merge(a?.id ?? '', b?.id ?? '')
      for (let n = 0; n < 40; n += 1) await write(n * 11 + round)
      await store.runMaintenance()
    }
    const progress = await inTime(clock, cutOver())
    expect(progress).toMatchObject({ lag: 0, waiting: 0 })
    expect(await verified(target)).toMatchObject({ same: true })
    await clock.advance(61_000)
    await store.runMaintenance()
    await inTime(clock, cutOver())
    await inTime(clock, migration.caughtUp())
    expect(await verified(target)).toMatchObject({ same: true })
    expect((await source.readExpiry()).pendingDeletes).toBeGreaterThan(0)
    expect(await target.count()).toBeGreaterThan(0)
  })
})

async function startedCopy(options: Partial<MigrationOptions<City, City>> = {}) {
  const migration = await started(options)
  return { migration, target: migration.target, cutOver: () => migration.cutOver() }
}
