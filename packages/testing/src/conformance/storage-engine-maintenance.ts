import { FULL_RANGE } from '@tidemark/contracts'
import type { MaintenanceTask, StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { START_MS, START_SECOND, fixtureWithClock } from './storage-engine-expiry.ts'
import { DEFINITION, put, type EngineSetup } from './storage-engine-fixtures.ts'
import type { SteppedClock } from './stepped-clock.ts'

/** Who does background work, what there is to do, and what expires when. */
export function storageEngineMaintenance(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
): void {
  const make = (
    defaultTtl: number | null,
    { definition, ...setup }: EngineSetup = {},
  ): ReturnType<typeof fixtureWithClock> =>
    fixtureWithClock(open, { ...setup, definition: { defaultTtl, ...definition } })

  describe('the right to maintain', () => {
    test('TTL-5 one holder at a time, until its lease is over by the clock of the store', async () => {
      const { fixture, clock } = await make(5)
      const { database } = fixture
      const take = (holder: string): ReturnType<typeof database.maintain> =>
        database.maintain({ holder, leaseMs: 10_000, maxItems: 10 })
      expect((await database.readMaintenance()).holder).toBeUndefined()
      expect(await take('one')).toEqual({ kind: 'done', items: 0, more: false })
      const untilMs = START_MS + 10_000
      expect((await database.readMaintenance()).holder).toEqual({ name: 'one', untilMs })
      expect(await take('two')).toEqual({ kind: 'held', holder: 'one', untilMs })
      clock.step(5000)
      expect(await take('one')).toMatchObject({ kind: 'done' })
      clock.step(9999)
      expect(await take('two')).toEqual({ kind: 'held', holder: 'one', untilMs: untilMs + 5000 })
      clock.step(1)
      expect((await database.readMaintenance()).holder).toBeUndefined()
      expect(await take('two')).toMatchObject({ kind: 'done' })
      expect(await take('one')).toMatchObject({ kind: 'held', holder: 'two' })
    })

    test('TTL-5 a lease that is renewed is seen to be, also while the store’s clock stands still', async () => {
      const { fixture } = await make(5)
      const { database } = fixture
      const seen = new Set<number | undefined>()
      for (let renewals = 0; renewals < 3; renewals += 1) {
        await database.maintain({ holder: 'one', leaseMs: 10_000, maxItems: 10 })
        seen.add((await database.readMaintenance()).holder?.untilMs)
      }
      expect(seen.size).toBe(3)
      await database.releaseMaintenance('one')
      await database.maintain({ holder: 'two', leaseMs: 10_000, maxItems: 10 })
      expect((await database.readMaintenance()).holder?.untilMs).toBe(START_MS + 10_000)
    })

    test('TTL-5 one that is held by another does nothing', async () => {
      const { fixture, clock } = await make(5)
      const { database, collection } = fixture
      await fixture.write('p', 'a')
      clock.step(5000)
      await database.maintain({ holder: 'one', leaseMs: 10_000, maxItems: 10 })
      const task = { kind: 'sweep', collection } as const
      const late = { holder: 'two', leaseMs: 10_000, maxItems: 10, task }
      expect(await database.maintain(late)).toMatchObject({ kind: 'held' })
      expect(await fixture.feed()).toEqual([])
      await database.releaseMaintenance('two')
      expect(await database.maintain(late)).toMatchObject({ kind: 'held' })
      await database.releaseMaintenance('one')
      expect(await database.maintain(late)).toMatchObject({ kind: 'done', items: 1 })
      expect(await fixture.feed()).toHaveLength(1)
    })

    test('of many that take it at once, one has it', async () => {
      const { fixture } = await make(5)
      const { database } = fixture
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          database.maintain({ holder: `h${n}`, leaseMs: 10_000, maxItems: 10 }),
        ),
      )
      expect(outcomes.filter(({ kind }) => kind === 'done')).toHaveLength(1)
    })
  })

  describe('background work', () => {
    test('a store without TTL, splits and all versions has nothing to do, ever', async () => {
      const { fixture, clock } = await make(null)
      await fixture.commit(fixture.batch('p', [put('a', { ttl: 5 })]))
      clock.step(1_000_000)
      expect(await fixture.database.readMaintenance()).toEqual({
        tasks: [],
        nextDueMs: undefined,
        holder: undefined,
      })
    })

    test('TTL-5 it says when the next document expires, and then what there is to do', async () => {
      const { fixture, clock } = await make(-1)
      const { database } = fixture
      await fixture.commit(fixture.batch('p', [put('a', { ttl: 50 }), put('b', { ttl: 20 })]))
      const dueMs = (START_SECOND + 20) * 1000
      expect(await database.readMaintenance()).toMatchObject({ tasks: [], nextDueMs: dueMs })
      clock.stepTo(dueMs - 1)
      expect(await database.readMaintenance()).toMatchObject({ tasks: [], nextDueMs: dueMs })
      clock.step(1)
      const { tasks } = await database.readMaintenance()
      expect(tasks).toMatchObject([{ kind: 'sweep', collection: { id: 'coll' } }])
      await fixture.maintain('sweep')
      expect(await database.readMaintenance()).toMatchObject({
        tasks: [],
        nextDueMs: (START_SECOND + 50) * 1000,
      })
    })

    test('the most urgent comes first, of all collections', async () => {
      const { fixture, clock } = await make(5, {
        definition: {
          pendingDeletes: { retentionSeconds: 0, waitFor: [] },
          allVersions: { retentionSeconds: 1, previousImages: false },
        },
      })
      const { database } = fixture
      const other = await database.createCollection('other', { ...DEFINITION, defaultTtl: 5 }, [
        FULL_RANGE,
      ])
      await fixture.write('p', 'a')
      clock.step(5000)
      await fixture.maintain('sweep')
      await fixture.write('p', 'b')
      await fixture.split('20')
      clock.step(5000)
      await database.updateCollection(other, { defaultTtl: null })
      const { tasks } = await database.readMaintenance()
      const kinds = tasks.map((task) => `${task.collection.id} ${task.kind}`)
      expect(kinds.slice(0, 4)).toEqual([
        'other expiryIndex',
        'coll sweep',
        'coll purge',
        'coll trimVersions',
      ])
      expect(new Set(kinds.slice(4))).toEqual(new Set(['coll fold']))
    })

    test('TTL-5 a piece is no larger than it may be, and says whether there is more', async () => {
      const { fixture, clock } = await make(5)
      await fixture.write('p', ...Array.from({ length: 9 }, (_, n) => `d${n}`))
      clock.step(5000)
      const task = { kind: 'sweep', collection: fixture.collection } as const
      let swept = 0
      for (let more = true; more;) {
        const piece = await fixture.piece(task, 4)
        // Fewer where the machine is so slow that a piece is cut by its time.
        expect(piece.items).toBeLessThanOrEqual(4)
        swept += piece.items
        expect(await fixture.feed()).toHaveLength(swept)
        if (swept < 9) expect(piece).toMatchObject({ more: true })
        more = piece.more
      }
      expect(swept).toBe(9)
    })

    test('a task that is no longer there does nothing', async () => {
      const { fixture } = await make(5)
      const { database, collection } = fixture
      const [range] = await fixture.ranges()
      const tasks: readonly MaintenanceTask[] = [
        { kind: 'expiryIndex', collection },
        { kind: 'sweep', collection },
        { kind: 'purge', collection },
        { kind: 'trimVersions', collection },
        { kind: 'fold', collection, range: range?.number ?? 0 },
        { kind: 'fold', collection, range: 4711 },
      ]
      for (const task of tasks) {
        expect(await fixture.piece(task)).toEqual({ kind: 'done', items: 0, more: false })
      }
      await database.deleteCollection('coll')
      for (const task of tasks) {
        expect(await fixture.piece(task)).toEqual({ kind: 'done', items: 0, more: false })
      }
      expect((await database.readMaintenance()).tasks).toEqual([])
    })

    test('TTL-8 with TTL switched off the sweep stops', async () => {
      const { fixture, clock } = await make(5)
      const { database, collection } = fixture
      await fixture.write('p', 'a')
      await fixture.update({ defaultTtl: null })
      await fixture.maintain('expiryIndex')
      clock.step(1_000_000)
      expect(await database.readMaintenance()).toMatchObject({ tasks: [], nextDueMs: undefined })
      expect(await fixture.piece({ kind: 'sweep', collection })).toMatchObject({ items: 0 })
      expect(await fixture.count()).toBe(1)
    })
  })

  describe('what expires when', () => {
    test('TTL-11 counts what will expire, what has, and what is pending', async () => {
      const { fixture, clock } = await make(-1, {
        definition: { pendingDeletes: { retentionSeconds: 60, waitFor: [] } },
      })
      const { database, collection } = fixture
      for (const [index, ttl] of [5, 10, 10, 100, 0, -1].entries()) {
        await fixture.commit(fixture.batch(`p${index}`, [put('a', { ttl })]))
      }
      clock.stepTo(START_SECOND * 1000 + 1000)
      const view = (): ReturnType<typeof database.readExpiry> =>
        database.readExpiry(collection, { withinSeconds: [4, 8, 9, 1000] })
      expect(await view()).toEqual({
        nowMs: START_SECOND * 1000 + 1000,
        expiring: [1, 1, 3, 4],
        withExpiry: 4,
        unswept: 0,
        pendingDeletes: 0,
        nextExpiryMs: (START_SECOND + 5) * 1000,
        horizons: [],
        isReindexing: false,
      })
      clock.stepTo((START_SECOND + 10) * 1000)
      expect(await view()).toMatchObject({
        expiring: [0, 0, 0, 1],
        withExpiry: 1,
        unswept: 3,
        pendingDeletes: 0,
        nextExpiryMs: (START_SECOND + 100) * 1000,
      })
      await fixture.maintain('sweep')
      expect(await view()).toMatchObject({ withExpiry: 1, unswept: 0, pendingDeletes: 3 })
      clock.step(60_000)
      await fixture.maintain('purge')
      const { lsn } = await fixture.start({ kind: 'now' })
      expect(await view()).toMatchObject({
        pendingDeletes: 0,
        horizons: [
          {
            range: { minInclusive: '', maxExclusive: 'FF' },
            lsn,
            stamp: expect.any(Number) as number,
          },
        ],
      })
      await fixture.update({ defaultTtl: 1 })
      expect(await view()).toMatchObject({ isReindexing: true })
      await fixture.maintain('expiryIndex')
      expect(await view()).toMatchObject({
        isReindexing: false,
        withExpiry: 1,
        unswept: 0,
        pendingDeletes: 1,
      })
    })

    test('of a collection that is gone it says so', async () => {
      const { fixture } = await make(5)
      const { database, collection } = fixture
      await database.deleteCollection('coll')
      await expect(database.readExpiry(collection, { withinSeconds: [] })).rejects.toMatchObject({
        code: 'ERR_NOT_FOUND',
      })
    })
  })

  describe('definitions', () => {
    test('a changed definition is there for every reader of the record, with another etag', async () => {
      const { fixture, clock } = await make(null)
      const { database, collection } = fixture
      const first = await fixture.update({ defaultTtl: 5 })
      expect(first).toMatchObject({
        id: 'coll',
        rid: collection.rid,
        number: collection.number,
        definition: { ...DEFINITION, defaultTtl: 5 },
      })
      expect(first.etag).not.toBe(collection.etag)
      expect(await database.readCollection('coll')).toEqual(first)
      expect(await database.listCollections()).toEqual([first])
      clock.step(1000)
      const pendingDeletes = { retentionSeconds: 7, waitFor: ['one'] }
      const allVersions = { retentionSeconds: 9, previousImages: true }
      const changes = { pendingDeletes, allVersions, splitAboveBytes: 1_000_000 }
      const second = await fixture.update(changes)
      expect(second.definition).toEqual({ ...DEFINITION, defaultTtl: 5, ...changes })
      expect(second.etag).not.toBe(first.etag)
      expect(second.ts).toBe(START_SECOND + 1)
    })

    test('ST-3 a change under an etag is refused when another came before it', async () => {
      const { fixture } = await make(null)
      const { database, collection } = fixture
      const update = (defaultTtl: number, ifMatch: string): Promise<unknown> =>
        database.updateCollection(collection, { defaultTtl }, { ifMatch })
      await update(5, collection.etag)
      const failed = { code: 'ERR_PRECONDITION_FAILED' }
      await expect(update(6, collection.etag)).rejects.toMatchObject(failed)
      expect(await database.readCollection('coll')).toMatchObject({
        definition: { defaultTtl: 5 },
      })
      await database.deleteCollection('coll')
      const gone = { code: 'ERR_NOT_FOUND' }
      await expect(fixture.update({ defaultTtl: 6 })).rejects.toMatchObject(gone)
    })
  })
}
