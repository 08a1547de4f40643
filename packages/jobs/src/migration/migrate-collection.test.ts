import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  systemRandom,
  type DocumentBody,
  type LeaseGroup,
  type LeaseStore,
} from '@tidemark/contracts'
import { DocumentLeaseStore, MemoryLeaseStore } from '@tidemark/processor'
import { LeaseMemory, leaseStoreOn } from '@tidemark/processor/lease-model'
import { type Collection, type Database, type Store } from '@tidemark/store'
import { FakeDocumentCollection, SimulatedClock, openMemoryStore } from '@tidemark/testing'
import type { JobRecord } from '../effectively-once/ledger.ts'
import { verifyMigration } from '../verification/verify-migration.ts'
import { migrateCollection, type Migration } from './migrate-collection.ts'
import type { MigrationEvent } from './migration-events.ts'
import type { MigrationOptions } from './migration-options.ts'
import { watchMigration } from './watch-migration.ts'
import { inTime } from '../in-time.fixture.ts'

interface City extends DocumentBody {
  readonly country: string
  readonly name: string
  readonly population?: number
}

let clock: SimulatedClock
let store: Store
let database: Database
let source: Collection<City>
let leases: LeaseStore
let running: Migration<City>[]
let events: MigrationEvent[]

beforeEach(async () => {
  clock = new SimulatedClock()
  store = await openMemoryStore({ clock })
  database = store.database('world')
  source = await database.createCollectionIfNotExists<City>({
    id: 'cities',
    partitionKey: '/country',
    partitionCount: 4,
  })
  leases = new MemoryLeaseStore({ clock })
  running = []
  events = []
})

afterEach(async () => {
  for (const migration of running) await inTime(clock, migration.stop())
  await store.close()
})

const keep = (city: City): City => city

/** As one process sees it that cannot reach it for a while. */
function cutOffWhile(isCutOff: () => boolean, group: LeaseGroup): LeaseGroup {
  return new Proxy(group, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        const isCall = name !== 'subscribe' && name !== 'close'
        if (isCall && isCutOff()) return Promise.reject(new Error('cut off'))
        return Reflect.apply(value, target, args) as unknown
      }
    },
  })
}

function worker(options: Partial<MigrationOptions<City, City>> = {}): Migration<City> {
  const migration = migrateCollection<City, City>({
    job: 'by-name',
    hostName: 'worker-1',
    source,
    target: { database, id: 'byName', partitionKey: '/name' },
    leases,
    mapDocument: keep,
    clock,
    onEvent: (event) => events.push(event),
    ...options,
  })
  running.push(migration)
  return migration
}

async function started(
  options: Partial<MigrationOptions<City, City>> = {},
): Promise<Migration<City>> {
  const migration = worker(options)
  await inTime(clock, migration.start())
  return migration
}

async function targetKeys(target: Collection<City>): Promise<readonly string[]> {
  const { documents } = await target.readDocuments()
  return documents.map(({ name, id }) => `${name}/${id}`).sort()
}

const PARIS: City = { id: '1', country: 'FR', name: 'Paris', population: 2 }
const LYON: City = { id: '2', country: 'FR', name: 'Lyon' }
const PARIS_TEXAS: City = { id: '3', country: 'US', name: 'Paris' }

describe('migrateCollection', () => {
  test('JB-1 a source that was created again is not taken for the one that was copied', async () => {
    await source.upsert(PARIS)
    const migration = await started()
    await inTime(clock, migration.cutOver())
    await inTime(clock, migration.stop())
    await database.deleteCollection('cities')
    source = await database.createCollectionIfNotExists<City>({
      id: 'cities',
      partitionKey: '/country',
      defaultTtl: -1,
    })
    await source.upsert(LYON)
    await expect(worker().start()).rejects.toMatchObject({ code: 'ERR_MIGRATION_TARGET' })

    for (const id of ['byName', 'migration-by-name']) await database.deleteCollection(id)
    const again = await started()
    await inTime(clock, again.cutOver())
    expect(await targetKeys(again.target)).toEqual(['Lyon/2'])
  })

  test.each(['kept', 'lost'])(
    'JB-1 a target that was dropped alone is not taken for the one that has the copies: leases %s',
    async (given) => {
      await source.upsert(PARIS)
      const migration = await started()
      await inTime(clock, migration.cutOver())
      await inTime(clock, migration.stop())
      await database.deleteCollection('byName')
      if (given === 'lost') leases = new MemoryLeaseStore({ clock })
      await expect(worker().start()).rejects.toMatchObject({
        code: 'ERR_MIGRATION_TARGET',
        message: expect.stringContaining('delete migration-by-name too'),
      })

      await database.deleteCollection('migration-by-name')
      const again = await started()
      await inTime(clock, again.cutOver())
      expect(await targetKeys(again.target)).toEqual(['Paris/1'])
    },
  )

  test.each([
    { record: 'none', isSourceNoted: false },
    { record: 'of its source alone', isSourceNoted: true },
  ])(
    'JB-1 state of an earlier release notes the target that it finds: record $record',
    async (given) => {
      await source.upsert(PARIS)
      const migration = await started()
      await inTime(clock, migration.cutOver())
      await inTime(clock, migration.stop())
      const state = database.collection<JobRecord>('migration-by-name')
      await state.delete('source', 'job')
      const record = { partition: 'job', id: 'source', identity: source.identity } as const
      if (given.isSourceNoted) await state.create(record)
      const next = await started()
      await inTime(clock, next.cutOver())
      await inTime(clock, next.stop())
      await database.deleteCollection('byName')
      await expect(worker().start()).rejects.toMatchObject({ code: 'ERR_MIGRATION_TARGET' })
    },
  )

  test('JB-1 copies what is there and what is written meanwhile under the other partition key', async () => {
    for (const city of [PARIS, LYON]) await source.upsert(city)
    const migration = await started()
    await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Lyon/2', 'Paris/1'])
    expect(migration.target.partitionKeyPaths).toEqual(['/name'])

    await source.upsert(PARIS_TEXAS)
    await source.upsert({ ...PARIS, population: 3 })
    const progress = await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Lyon/2', 'Paris/1', 'Paris/3'])
    const { document } = await migration.target.read('1', 'Paris')
    expect(document?.population).toBe(3)
    expect(progress).toMatchObject({
      state: 'caughtUp',
      documents: 3,
      updates: 1,
      moves: 0,
      lag: 0,
      remaining: 0,
    })
  })

  test('JB-1 an update that moves a document to another target key leaves no old copy', async () => {
    await source.upsert(PARIS)
    const migration = await started()
    await inTime(clock, migration.cutOver())
    await source.upsert({ ...PARIS, name: 'Lutetia' })
    const progress = await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Lutetia/1'])
    expect(progress).toMatchObject({ documents: 1, updates: 1, moves: 1 })
  })

  test('a document that mapDocument leaves out has no copy, also when it had one', async () => {
    for (const city of [PARIS, LYON]) await source.upsert(city)
    const mapDocument = (city: City): City | undefined =>
      (city.population ?? 0) > 1 ? city : undefined
    const migration = await started({ mapDocument })
    await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Paris/1'])
    await source.upsert({ ...PARIS, population: 0 })
    await source.upsert({ ...LYON, population: 5 })
    await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Lyon/2'])
    const report = await verifyMigration({ source, target: migration.target, mapDocument })
    expect(report).toMatchObject({
      same: true,
      sourceDocuments: 2,
      expected: 1,
      targetDocuments: 1,
    })
  })

  test('a second worker of the same job goes on where the first one stopped, and applies nothing twice', async () => {
    await source.upsert(PARIS)
    const first = await started()
    await inTime(clock, first.cutOver())
    await inTime(clock, first.stop())
    await source.upsert(LYON)
    events = []
    const second = await started({ hostName: 'worker-2' })
    await inTime(clock, second.cutOver())
    expect(await targetKeys(second.target)).toEqual(['Lyon/2', 'Paris/1'])
    const changes = events.filter((event) => event.kind === 'applied')
    expect(changes.reduce((sum, event) => sum + event.changes, 0)).toBe(1)
  })

  test('a job whose leases are gone reads all again and changes nothing', async () => {
    for (const city of [PARIS, LYON]) await source.upsert(city)
    const first = await started()
    await inTime(clock, first.cutOver())
    await inTime(clock, first.stop())
    const before = await first.target.readDocuments()
    const second = await started({ leases: new MemoryLeaseStore({ clock }) })
    const progress = await inTime(clock, second.cutOver())
    expect(await first.target.readDocuments()).toEqual(before)
    expect(progress).toMatchObject({ documents: 2, updates: 0 })
  })

  test.each(['the leases are there still', 'the leases went with it'])(
    'JB-1 a job whose target was dropped begins anew, although the source knows how far it was: %s',
    async (what) => {
      const kept = new FakeDocumentCollection({ clock })
      const before = kept.snapshot()
      leases = new DocumentLeaseStore(kept)
      for (const city of [PARIS, LYON]) await source.upsert(city)
      const first = await started()
      await inTime(clock, first.cutOver())
      await inTime(clock, first.stop())
      await database.deleteCollection('byName')
      await database.deleteCollection('migration-by-name')
      if (what.endsWith('with it')) kept.restore(before)
      const second = await started()
      const progress = await inTime(clock, second.cutOver())
      expect(await targetKeys(second.target)).toEqual(['Lyon/2', 'Paris/1'])
      expect(progress).toMatchObject({ documents: 2 })
    },
  )

  test('a job whose leases were lost goes on where the source knows that it stood', async () => {
    const kept = new FakeDocumentCollection({ clock })
    const before = kept.snapshot()
    leases = new DocumentLeaseStore(kept)
    for (const city of [PARIS, LYON]) await source.upsert(city)
    const first = await started()
    await inTime(clock, first.cutOver())
    await inTime(clock, first.stop())
    kept.restore(before)
    await source.upsert(PARIS_TEXAS)
    events.length = 0
    const second = await started()
    await inTime(clock, second.cutOver())
    expect(await targetKeys(second.target)).toEqual(['Lyon/2', 'Paris/1', 'Paris/3'])
    const applied = events.filter((event) => event.kind === 'applied')
    expect(applied.reduce((sum, event) => sum + event.changes, 0)).toBe(1)
  })

  test('JB-1 LE-11 a lease store that loses all its data under load, twice, the second time with a clock that is behind: both sides say the same', async () => {
    let offsetMs = 0
    const memory = new LeaseMemory(systemRandom)
    leases = leaseStoreOn(memory, {
      clock: {
        wallMs: () => clock.wallMs() + offsetMs,
        monotonicMs: () => clock.monotonicMs(),
        sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
      },
    })
    const first = await started()
    await started({ hostName: 'worker-2' })
    const write = async (round: number): Promise<void> => {
      for (let n = 0; n < 10; n += 1) {
        const id = `${(round * 7 + n) % 40}`
        // Half of the updates move the document to another key of the target.
        const name = `name${(Number(id) + (round % 2)) % 40}`
        await source.upsert({ id, country: `C${id}`, name, population: round })
      }
      await clock.advance(200)
    }
    let round = 0
    for (const lostAtMs of [0, -3_600_000]) {
      for (let n = 0; n < 10; n += 1) await write((round += 1))
      offsetMs = lostAtMs
      memory.loseAllData()
      // Longer than a session: what is written meanwhile is read after it.
      for (let n = 0; n < 60; n += 1) await write((round += 1))
    }
    const progress = await inTime(clock, first.cutOver())
    expect(progress).toMatchObject({ state: 'caughtUp', lag: 0 })
    const report = await verifyMigration({ source, target: first.target, mapDocument: keep })
    expect(report).toMatchObject({ same: true })
    const acquired = events.filter((event) => event.kind === 'rangeAcquired')
    // Four ranges, of which some moved when the second worker came; and again after each loss.
    expect(acquired.length).toBeGreaterThanOrEqual(12)
  })

  test('JB-1 LE-11 a lease store that forgets who took over: the target refuses the former owner, and the job goes on by itself', async () => {
    const memory = new LeaseMemory(systemRandom)
    const store = leaseStoreOn(memory, { clock })
    leases = store
    let group: LeaseGroup | undefined
    const cutOff = new Set<string>()
    const seenBy = (host: string): LeaseStore => {
      const view = new MemoryLeaseStore({ clock })
      view.openGroup = async (id) => {
        group = await store.openGroup(id)
        return cutOffWhile(() => cutOff.has(host), group)
      }
      return view
    }
    // Who is cut off waits for the store after each batch, and the other one gets ahead of it.
    const hostOptions = { maxUnstoredBatches: 1 }
    const first = await started({ leases: seenBy('worker-1'), hostOptions })
    for (let n = 0; n < 40; n += 1) {
      await source.upsert({ id: `${n}`, country: `C${n}`, name: `name${n}`, population: 0 })
    }
    await inTime(clock, first.caughtUp())
    await clock.advance(1_000)
    const snapshot = memory.snapshot()
    // Two leases go to another worker, and the first one does not hear of it, nor has it anything to do.
    cutOff.add('worker-1')
    for (const { id, epoch, range, checkpoint } of (await group!.read()).leases) {
      await group!.override({ old: [{ leaseId: id, epoch }], next: [{ range, checkpoint }] })
    }
    const had = events.filter(({ kind }) => kind === 'rangeAcquired').length
    const second = await started({
      hostName: 'worker-2',
      leases: seenBy('worker-2'),
      hostOptions,
    })
    const isTaken = (): boolean =>
      events.filter(({ kind }) => kind === 'rangeAcquired').length > had + 1
    expect(await clock.advanceUntil(isTaken, { limitMs: 4_000 })).toBe(true)
    for (let n = 0; n < 40; n += 1) {
      await source.upsert({ id: `${n}`, country: `C${n}`, name: `name${n + 1}`, population: 1 })
    }
    await clock.advance(500)
    memory.restore(snapshot)
    // Now the former owner alone reaches the store, which believes that nobody else ever did.
    cutOff.delete('worker-1')
    cutOff.add('worker-2')
    for (let n = 0; n < 40; n += 1) {
      await source.upsert({ id: `${n}`, country: `C${n}`, name: `name${n + 2}`, population: 2 })
    }
    const isFenced = (): boolean => events.some(({ kind }) => kind === 'fenced')
    expect(await clock.advanceUntil(isFenced, { limitMs: 4_000 })).toBe(true)
    cutOff.clear()
    await inTime(clock, first.cutOver())
    await inTime(clock, second.cutOver())
    const report = await verifyMigration({ source, target: first.target, mapDocument: keep })
    expect(report).toMatchObject({ same: true })
  })

  test('deletes in the source do not keep the lag above zero, and verify lists what they leave as extra', async () => {
    for (const city of [PARIS, LYON]) await source.upsert(city)
    const migration = await started()
    await inTime(clock, migration.cutOver())
    await source.delete('2', 'FR')
    const progress = await inTime(clock, migration.cutOver())
    expect(progress.lag).toBe(0)
    const report = await verifyMigration({ source, target: migration.target, mapDocument: keep })
    expect(report).toMatchObject({
      same: false,
      missing: { count: 0 },
      different: { count: 0 },
      extra: { count: 1, samples: [{ partitionKey: '["Lyon"]', id: '2' }] },
    })
  })

  test('caughtUp waits for what was committed before, whichever worker applies it', async () => {
    await source.upsert(PARIS)
    const migration = await started()
    await source.upsert(LYON)
    await inTime(clock, migration.caughtUp())
    expect(await targetKeys(migration.target)).toEqual(['Lyon/2', 'Paris/1'])
  })

  test('a process that does no work sees the progress and the cut-over', async () => {
    await source.upsert(PARIS)
    await using watched = await watchMigration({
      job: 'by-name',
      source,
      targetDatabase: database,
      leases,
      clock,
    })
    expect(await watched.progress()).toMatchObject({ state: 'starting', documents: 0, lag: 0 })
    await started()
    const progress = await inTime(clock, watched.cutOver())
    expect(progress).toMatchObject({ state: 'caughtUp', documents: 1, sourceDocuments: 1 })
    expect(progress.ranges.map(({ owner }) => owner)).toEqual(Array(4).fill('worker-1'))
  })

  test('progress is told at intervals, and stops with the job', async () => {
    const told: number[] = []
    await source.upsert(PARIS)
    const migration = await started({
      onProgress: ({ documents }) => told.push(documents),
      progressIntervalMs: 100,
    })
    expect(await clock.advanceUntil(() => told.at(-1) === 1, { limitMs: 10_000 })).toBe(true)
    const wanted = told.length + 9
    expect(await clock.advanceUntil(() => told.length >= wanted, { limitMs: 1_500 })).toBe(true)
    await inTime(clock, migration.stop())
    const { length } = told
    await clock.advance(1_000)
    expect(told).toHaveLength(length)
  })

  test('the target may be in another store', async () => {
    await using other = await openMemoryStore({ clock })
    await source.upsert(PARIS)
    const target = { database: other.database('elsewhere'), id: 'byName', partitionKey: '/name' }
    const migration = await started({ target })
    await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Paris/1'])
    await inTime(clock, migration.stop())
  })
})

describe('collisions', () => {
  /** Names are the ids of the target: two cities of one name want one key. */
  const byName = (city: City): City => ({ ...city, id: city.name })

  test('the second source of one target key is reported and kept out; the first one stays', async () => {
    await source.upsert(PARIS)
    const migration = await started({ mapDocument: byName })
    await inTime(clock, migration.cutOver())
    await source.upsert(PARIS_TEXAS)
    const progress = await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Paris/Paris'])
    const { document } = await migration.target.read('Paris', 'Paris')
    expect(document?.country).toBe('FR')
    expect(progress).toMatchObject({ collisions: 1, collisionsResolved: 0, waiting: 1 })
    expect(events.filter(({ kind }) => kind === 'collision')).toEqual([
      {
        kind: 'collision',
        source: { partitionKey: '["US"]', id: '3' },
        target: { partitionKey: '["Paris"]', id: 'Paris' },
      },
    ])
    const report = await verifyMigration({ source, target: migration.target, mapDocument: byName })
    expect(report).toMatchObject({ same: false, different: { count: 1 }, collisions: { count: 1 } })
  })

  test('when the first one leaves the key, the one that waits gets it, in its newest version', async () => {
    await source.upsert(PARIS)
    const migration = await started({ mapDocument: byName })
    await inTime(clock, migration.cutOver())
    await source.upsert(PARIS_TEXAS)
    await inTime(clock, migration.cutOver())
    await source.upsert({ ...PARIS_TEXAS, population: 25 })
    await source.upsert({ ...PARIS, name: 'Lutetia' })
    const progress = await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Lutetia/Lutetia', 'Paris/Paris'])
    const { document } = await migration.target.read('Paris', 'Paris')
    expect(document).toMatchObject({ country: 'US', population: 25 })
    expect(progress.waiting).toBe(0)
    const report = await verifyMigration({ source, target: migration.target, mapDocument: byName })
    expect(report.same).toBe(true)
  })

  test('two documents that swap their target keys are swapped in the target too', async () => {
    const a = { ...PARIS, name: 'A' }
    const b = { ...PARIS_TEXAS, name: 'B' }
    for (const city of [a, b]) await source.upsert(city)
    const migration = await started({ mapDocument: byName })
    await inTime(clock, migration.cutOver())
    await source.upsert({ ...a, name: 'C' })
    await source.upsert({ ...b, name: 'A' })
    await source.upsert({ ...a, name: 'B' })
    await inTime(clock, migration.cutOver())
    const report = await verifyMigration({ source, target: migration.target, mapDocument: byName })
    expect(report).toMatchObject({ same: true, targetDocuments: 2 })
    const { document } = await migration.target.read('A', 'A')
    expect(document?.country).toBe('US')
  })

  test('one that waits and goes elsewhere leaves the queue', async () => {
    await source.upsert(PARIS)
    const migration = await started({ mapDocument: byName })
    await inTime(clock, migration.cutOver())
    await source.upsert(PARIS_TEXAS)
    await inTime(clock, migration.cutOver())
    await source.upsert({ ...PARIS_TEXAS, name: 'Dallas' })
    await inTime(clock, migration.cutOver())
    await source.upsert({ ...PARIS, name: 'Lutetia' })
    const progress = await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Dallas/Dallas', 'Lutetia/Lutetia'])
    expect(progress.waiting).toBe(0)
  })
})

describe('what is refused', () => {
  test('a target that is missing and has no partition key given: ERR_MIGRATION_TARGET says so', async () => {
    const migration = worker({ target: { database, id: 'nowhere' } })
    await expect(inTime(clock, migration.start())).rejects.toMatchObject({
      code: 'ERR_MIGRATION_TARGET',
      message: expect.stringMatching(/world\/nowhere.*does not exist.*partition key/),
    })
    expect((await database.listCollections()).map(({ id }) => id)).toEqual(['cities'])
  })

  test('a target with another partition key: ERR_MIGRATION_TARGET, and it is left as it is', async () => {
    await database.createCollection({ id: 'byName', partitionKey: '/other' })
    const migration = worker()
    await expect(inTime(clock, migration.start())).rejects.toMatchObject({
      code: 'ERR_MIGRATION_TARGET',
      message: expect.stringContaining('/other'),
    })
  })

  test('the source itself as the target', async () => {
    const migration = worker({ target: { database, id: 'cities' } })
    await expect(inTime(clock, migration.start())).rejects.toMatchObject({
      code: 'ERR_MIGRATION_TARGET',
    })
  })

  test('a source that does not exist', async () => {
    const migration = worker({ source: database.collection<City>('gone') })
    await expect(inTime(clock, migration.start())).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  })

  test('options out of range, at construction', () => {
    expect(() => worker({ job: '' })).toThrow(/job/)
    expect(() => worker({ job: 'a/b' })).toThrow(/job/)
    expect(() => worker({ maxItemCount: 0 })).toThrow(/maxItemCount/)
    expect(() => worker({ progressIntervalMs: -1 })).toThrow(/progressIntervalMs/)
    running = []
  })

  test('a document that cannot be written is a failure that names it, and the job goes on once it is mended', async () => {
    await source.upsert({ ...PARIS, name: 'bad' })
    const migration = await started({
      mapDocument: (city) => (city.name === 'bad' ? { ...city, id: 'a/b' } : city),
    })
    await clock.advance(1_000)
    const failures = events.filter((event) => event.kind === 'failure')
    expect(failures.length).toBeGreaterThan(0)
    expect(String(failures[0]?.error)).toMatch(/a\/b/)
    await source.upsert(PARIS)
    await inTime(clock, migration.cutOver())
    expect(await targetKeys(migration.target)).toEqual(['Paris/1'])
  })

  test('calls before start and after stop reject with a coded error', async () => {
    const migration = worker()
    await expect(migration.progress()).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
    await inTime(clock, migration.start())
    const waiting = migration.cutOver()
    waiting.catch(() => {})
    await inTime(clock, migration.stop())
    await expect(migration.start()).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
    await migration.stop()
  })
})
