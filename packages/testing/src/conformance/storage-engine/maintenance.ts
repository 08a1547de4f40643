import { FULL_RANGE } from '@tidemark/contracts'
import type { MaintenanceTask, StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  START_MS,
  START_SECOND,
  fixtureWithClock,
  DEFINITION,
  put,
  type EngineSetup,
} from './fixtures.ts'
import type { SteppedClock } from '../../stepped-clock.ts'

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
  })

  describe('what expires when', () => {
    test('of a collection that is gone it says so', async () => {
      const { fixture } = await make(5)
      const { database, collection } = fixture
      await database.deleteCollection('coll')
      await expect(database.readExpiry(collection, { withinSeconds: [] })).rejects.toMatchObject({
        code: 'ERR_NOT_FOUND',
      })
    })
  })
}
