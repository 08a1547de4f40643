import { FULL_RANGE, lsn } from '@tidemark/contracts'
import type { MaintenanceOutcome } from '@tidemark/store/engine'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { SteppedClock } from '../../stepped-clock.ts'
import { EngineFixture, put, type StorageEngineUnderTest } from './fixtures.ts'

/** What is still there after a restart, and what a second process sees. */
export function storageEngineReopening(
  open: (clock?: SteppedClock) => Promise<StorageEngineUnderTest>,
): void {
  const reopen = async ({ reopen }: StorageEngineUnderTest): Promise<StorageEngine> => {
    const engine = await reopen?.()
    if (engine === undefined) throw new Error('a durable engine needs `reopen`')
    return engine
  }

  describe('reopening', () => {
    test('ST-6 a durable engine has everything again after it was closed', async (context) => {
      const underTest = await open()
      if (!underTest.engine.supports.durable) context.skip('this engine is not durable')
      const fixture = await EngineFixture.make(underTest.engine, 3)
      const keys = Array.from({ length: 12 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, 'a', 'b')
      const { collection, database, engine } = fixture
      const ranges = await database.listRanges(collection)
      const feeds = await Promise.all(ranges.map((range) => fixture.feedIds(range)))
      const range = FULL_RANGE
      await database.commit({
        batches: [fixture.batch('p0', [put('a')])],
        fence: { job: 'job', range, epoch: 9 },
      })
      const written = await fixture.read('p0', 'a')
      const { storeId } = engine
      const nowMs = database.nowMs()
      await engine.close()

      const reopened = await underTest.reopen?.()
      if (reopened === undefined) throw new Error('a durable engine needs `reopen`')
      expect(reopened.storeId).toBe(storeId)
      const after = await fixture.through(reopened)
      expect(after.collection).toEqual(collection)
      const cuts = (list: typeof ranges): readonly unknown[] =>
        // The segment may have rolled since they were listed.
        list.map(({ segment: _, ...range }) => range)
      expect(cuts(await after.database.listRanges(collection))).toEqual(cuts(ranges))
      expect(await after.read('p0', 'a')).toEqual(written)
      expect(await after.database.countDocuments(collection)).toBe(24)
      expect(after.database.nowMs()).toBeGreaterThanOrEqual(nowMs - 1000)
      for (const [index, each] of ranges.entries()) {
        expect([...(await after.feedIds(each))].sort()).toEqual([...(feeds[index] ?? [])].sort())
      }
      const stale = await after.database.commit({
        batches: [after.batch('p0', [put('late')])],
        fence: { job: 'job', range, epoch: 8 },
      })
      expect(stale).toEqual({ kind: 'fenced', currentEpoch: 9 })
      const lsn = await after.write('p0', 'later')
      expect(lsn).toBeGreaterThan(Number(written?.['_lsn']))
      expect(await after.database.check()).toEqual([])
      await reopened.close()
    })

    test('annotations of databases are durable, and a second process sees each change', async (context) => {
      const underTest = await open()
      if (!underTest.engine.supports.durable) context.skip('this engine is not durable')
      const { engine } = underTest
      const made = await engine.createDatabase('shop', { annotation: 'first' })
      const second = await underTest.openSecond?.()
      if (second === undefined) throw new Error('a durable engine of many needs `openSecond`')
      await second.openDatabase('shop')
      expect(await second.readDatabase('shop')).toEqual(made)
      const changed = await engine.annotateDatabase(made, 'second')
      expect(await second.readDatabase('shop')).toEqual(changed)
      expect(await second.listDatabases()).toEqual([changed])
      await second.close()
      await engine.close()
      const reopened = await reopen(underTest)
      expect(await reopened.readDatabase('shop')).toEqual(changed)
      await reopened.close()
    })

    test('deleted numbers and names are not given out again after a restart', async (context) => {
      const underTest = await open()
      if (!underTest.engine.supports.durable) context.skip('this engine is not durable')
      const { engine } = underTest
      const { database, collection } = await EngineFixture.make(engine)
      await database.deleteCollection('coll')
      const { rid } = await engine.createDatabase('second')
      await engine.deleteDatabase('second')
      await engine.close()
      const reopened = await underTest.reopen?.()
      if (reopened === undefined) throw new Error('a durable engine needs `reopen`')
      expect((await reopened.listDatabases()).map(({ id }) => id)).toEqual(['db'])
      expect((await reopened.createDatabase('second')).rid).not.toBe(rid)
      const again = await (
        await reopened.openDatabase('db')
      ).createCollection('coll', collection.definition, [FULL_RANGE])
      expect(again.number).not.toBe(collection.number)
      expect(again.rid).not.toBe(collection.rid)
      await reopened.close()
    })

    test('TTL-13 TTL-15 ST-9 CF-11 definitions, expiry, horizons, ranges, logs and positions are durable', async (context) => {
      const clock = new SteppedClock()
      const underTest = await open(clock)
      if (!underTest.engine.supports.durable) context.skip('this engine is not durable')
      const fixture = await EngineFixture.make(underTest.engine, {
        definition: {
          defaultTtl: 5,
          pendingDeletes: { retentionSeconds: 10, waitFor: [] },
          allVersions: { retentionSeconds: 10, previousImages: true },
        },
      })
      const { database, collection } = fixture
      const keys = Array.from({ length: 12 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, pk)
      await fixture.split('20')
      await fixture.split('10')
      await fixture.merge('20')
      clock.step(5000)
      await fixture.maintain('sweep', 5)
      clock.step(10_000)
      await fixture.maintain('purge', 5)
      await fixture.maintain('trimVersions', 5)
      await fixture.commit(
        fixture.batch('p1', [put('p1', { ttl: 60 })]),
        fixture.batch('p2', [put('old')]),
      )
      await fixture.maintain('fold', 3)
      clock.step(5000)
      await fixture.update({ defaultTtl: null })
      const range = { minInclusive: '10', maxExclusive: 'FF' }
      await database.reportPositions(collection, [{ group: 'group', range, lsn: lsn(7) }])
      const look = async ({ database: at, ...rest }: EngineFixture): Promise<unknown> => {
        // The store's clock goes on, also when that of the machine is set back.
        const within = { withinSeconds: [10, 100] }
        const { nowMs: _now, ...expiry } = await at.readExpiry(rest.collection, within)
        const ranges = await at.listRanges(rest.collection)
        const query = { collection: rest.collection, afterLsn: 0, maxItems: 100, maxChars: 1e9 }
        return {
          record: await at.readCollection('coll'),
          // The segment may have rolled since they were listed, and the counter jumps.
          ranges: ranges.map(({ segment: _, ...each }) => each),
          feeds: await Promise.all(
            ranges.map(async (each) => {
              const { rows, horizon } = await at.readFeedPage({ ...query, range: each })
              return { rows, horizon }
            }),
          ),
          logs: await Promise.all(
            ranges.map(async (each) => {
              const { rows, horizon } = await at.readVersionPage({ ...query, range: each })
              return { rows, horizon }
            }),
          ),
          positions: await at.readPositions(rest.collection, 'group'),
          expiry,
          tasks: (await at.readMaintenance()).tasks.map(({ kind }) => kind),
        }
      }
      const before = await look(fixture)
      await underTest.engine.close()
      // Whoever maintained it is gone; the clock of the machine is wrong now.
      clock.step(-3_600_000)
      const after = await fixture.through(await reopen(underTest))
      expect(await look(after)).toEqual(before)
      expect(await after.read('p2', 'old')).toBeUndefined()
      expect(await after.read('p1', 'p1')).toBeDefined()
      await after.maintain('expiryIndex')
      expect(await after.read('p2', 'old')).toBeUndefined()
      const [first] = await after.split('28')
      expect(first.number).toBeGreaterThan(Math.max(...first.parents))
      expect(await after.database.check()).toEqual([])
    })

    test('ST-10 CF-12 a second one on the same data sees commits and wakes at them', async (context) => {
      const underTest = await open()
      if (underTest.engine.supports.processes === 'single') context.skip('one process only')
      const first = await EngineFixture.make(underTest.engine)
      const second = await underTest.openSecond?.()
      if (second === undefined) throw new Error('an engine for many needs `openSecond`')
      const other = await first.through(second)
      const written = await first.write('p', 'a')
      expect(await other.read('p', 'a')).toMatchObject({ _lsn: written })
      const wait = other.wait(written, 20_000)
      const next = await first.write('p', 'b')
      expect(await wait).toBe(true)
      expect((await other.page(written)).lsn).toBe(next)

      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, n) => {
          const fixture = n % 2 === 0 ? first : other
          const condition = { kind: 'absent' } as const
          return fixture.commit(fixture.batch('p', [put(`c${n % 10}`, { n, condition })]))
        }),
      )
      expect(outcomes.filter(({ kind }) => kind === 'committed')).toHaveLength(10)
      expect(await first.feedIds()).toEqual(await other.feedIds())

      await second.createDatabase('made-by-second')
      expect((await underTest.engine.listDatabases()).map(({ id }) => id).sort()).toEqual([
        'db',
        'made-by-second',
      ])
      await other.database.deleteCollection('coll')
      await expect(first.page(0)).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
      expect(await first.commit(first.batch('p', [put('a')]))).toMatchObject({
        kind: 'collectionGone',
      })
      await second.close()
    })

    test('TTL-11 TTL-5 ST-10 expiry is the same instant in a second one, and one of both maintains', async (context) => {
      const clock = new SteppedClock()
      const underTest = await open(clock)
      if (underTest.engine.supports.processes === 'single') context.skip('one process only')
      const first = await EngineFixture.make(underTest.engine, { definition: { defaultTtl: 5 } })
      const second = await underTest.openSecond?.()
      if (second === undefined) throw new Error('an engine for many needs `openSecond`')
      const other = await first.through(second)
      const at = await first.write('p', 'a')
      clock.step(4999)
      expect(await other.read('p', 'a')).toBeDefined()
      clock.step(1)
      expect(await first.read('p', 'a')).toBeUndefined()
      expect(await other.read('p', 'a')).toBeUndefined()
      expect(await other.count()).toBe(0)
      // A default that the other one changes acts here at once.
      await other.update({ defaultTtl: 60 })
      await first.write('p', 'b')
      clock.step(5000)
      expect(await first.read('p', 'b')).toBeDefined()
      expect(await first.read('p', 'a')).toBeUndefined()

      const take = (fixture: EngineFixture, holder: string): Promise<MaintenanceOutcome> =>
        fixture.database.maintain({ holder, leaseMs: 10_000, maxItems: 10 })
      expect(await take(first, 'one')).toMatchObject({ kind: 'done' })
      expect(await take(other, 'two')).toMatchObject({ kind: 'held', holder: 'one' })
      expect((await other.database.readMaintenance()).holder).toMatchObject({ name: 'one' })
      clock.step(10_000)
      expect(await take(other, 'two')).toMatchObject({ kind: 'done' })
      expect(await take(first, 'one')).toMatchObject({ kind: 'held', holder: 'two' })
      await other.database.releaseMaintenance('two')
      const wait = first.waitIn(FULL_RANGE, (await first.page(at)).lsn)
      await other.maintain('expiryIndex')
      expect(await wait).toBe(true)
      await second.close()
    })

    test('ST-9 ST-10 a second one sees splits and merges, its readers wake, and its writes go to the right range', async (context) => {
      const underTest = await open()
      if (underTest.engine.supports.processes === 'single') context.skip('one process only')
      const first = await EngineFixture.make(underTest.engine)
      const second = await underTest.openSecond?.()
      if (second === undefined) throw new Error('an engine for many needs `openSecond`')
      const other = await first.through(second)
      const keys = Array.from({ length: 20 }, (_, n) => `p${n}`)
      for (const pk of keys) await first.write(pk, pk)
      const { lsn: newest } = await other.start({ kind: 'now' })
      const wait = other.waitIn(FULL_RANGE, newest)
      const [low, high] = await first.split('20')
      expect(await wait).toBe(true)
      expect(await other.ranges()).toEqual([low, high])
      await expect(other.page(0)).rejects.toMatchObject({ code: 'ERR_RANGE_GONE' })
      for (const pk of keys) await other.write(pk, `${pk}-2`)
      const ids = [...(await first.feedIds(low)), ...(await first.feedIds(high))]
      expect(ids.sort()).toEqual(keys.flatMap((pk) => [pk, `${pk}-2`]).sort())
      const [merged] = await Promise.all([
        other.merge('20'),
        ...keys.map((pk) => first.write(pk, `${pk}-3`)),
      ])
      // Its segment may have run full meanwhile.
      const { segment: _segment, ...range } = merged
      expect(await first.ranges()).toEqual([expect.objectContaining(range)])
      expect(await first.feedIds()).toHaveLength(60)
      expect(await first.feedIds()).toEqual(await other.feedIds())
      await first.maintain('fold', 7)
      expect(await other.feedIds()).toEqual(await first.feedIds())
      await second.close()
    })
  })
}
