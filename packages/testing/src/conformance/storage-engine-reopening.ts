import { FULL_RANGE } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { EngineFixture, put, type StorageEngineUnderTest } from './storage-engine-fixtures.ts'

/** What is still there after a restart, and what a second process sees. */
export function storageEngineReopening(open: () => Promise<StorageEngineUnderTest>): void {
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

    test('ST-10 CF-12 a second one on the same data sees commits and wakes at them', async (context) => {
      const underTest = await open()
      if (underTest.engine.supports.processes === 'single') context.skip('one process only')
      const first = await EngineFixture.make(underTest.engine)
      const second = await underTest.openSecond?.()
      if (second === undefined) throw new Error('an engine for many needs `openSecond`')
      const other = await first.through(second)
      const lsn = await first.write('p', 'a')
      expect(await other.read('p', 'a')).toMatchObject({ _lsn: lsn })
      const wait = other.wait(lsn, 20_000)
      const next = await first.write('p', 'b')
      expect(await wait).toBe(true)
      expect((await other.page(lsn)).lsn).toBe(next)

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
  })
}
