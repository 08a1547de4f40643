import { FULL_RANGE, rangeContainsEpk } from '@tidemark/contracts'
import { evenRanges, type FeedRow } from '@tidemark/contracts/internal'
import type { StorageEngine } from '@tidemark/store'
import { singleEpkRange } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import {
  DEFINITION,
  EngineFixture,
  MANY_CHARS,
  MANY_ITEMS,
  committed,
  del,
  keyOf,
  parsed,
  put,
} from './fixtures.ts'

/** Feed pages, starts, waits and scans. */
export function storageEngineFeed(open: () => Promise<StorageEngine>): void {
  const idsOf = (rows: readonly FeedRow[]): readonly unknown[] => rows.map(([, , , , , , id]) => id)

  describe('feed pages', () => {
    test('a page also ends after the transaction that reaches maxChars', async () => {
      const fixture = await EngineFixture.make(await open())
      for (let n = 0; n < 5; n++) await fixture.write('p', `d${n}`, `e${n}`)
      const page = await fixture.page(0, { maxChars: 1 })
      expect(idsOf(page.rows)).toEqual(['d0', 'e0'])
      expect(page.caughtUp).toBe(false)
    })

    test('CF-4 the beginning is there however often documents were replaced', async () => {
      const fixture = await EngineFixture.make(await open())
      const ids = Array.from({ length: 30 }, (_, n) => `d${n}`)
      for (let round = 0; round < 80; round++) await fixture.write('p', ...ids)
      await fixture.write('p', 'd7')
      expect(await fixture.feedIds()).toEqual([...ids.filter((id) => id !== 'd7'), 'd7'])
      expect(await fixture.database.check()).toEqual([])
    })
  })

  describe('waiting', () => {
    test('CF-12 a reader that is behind does not wait', async () => {
      const fixture = await EngineFixture.make(await open())
      await fixture.write('p', 'a')
      expect(await fixture.wait(0, 20_000)).toBe(true)
    })

    test('a wait that nothing ends times out', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (!low || !high) throw new Error('two ranges are expected')
      const keys = Array.from({ length: 20 }, (_, n) => `p${n}`)
      const inHigh = keys.find((pk) => rangeContainsEpk(high, keyOf(pk).epk)) ?? ''
      const wait = fixture.database.waitForCommit({
        collection: fixture.collection,
        range: low,
        afterLsn: 0,
        timeoutMs: 30,
        signal: new AbortController().signal,
      })
      await fixture.write(inHigh, 'a')
      expect(await wait).toBe(false)
    })

    test('an aborted wait rejects with the reason', async () => {
      const fixture = await EngineFixture.make(await open())
      const abort = new AbortController()
      const wait = fixture.wait(0, 20_000, abort.signal)
      const reason = new Error('enough')
      abort.abort(reason)
      await expect(wait).rejects.toBe(reason)
      await expect(fixture.wait(0, 20_000, abort.signal)).rejects.toBe(reason)
    })

    test('closing the engine ends its waits', async () => {
      const engine = await open()
      const fixture = await EngineFixture.make(engine)
      const wait = expect(fixture.wait(0, 20_000)).rejects.toMatchObject({
        code: 'ERR_STORE_CLOSED',
      })
      await engine.close()
      await wait
    })

    test('deleting the collection ends the waits on it', async () => {
      const fixture = await EngineFixture.make(await open())
      const wait = expect(fixture.wait(0, 20_000)).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
      await fixture.database.deleteCollection('coll')
      await wait
    })
  })

  describe('scans', () => {
    test('a scan page ends after the row that reaches maxChars', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      await fixture.write('p', 'a', 'b', 'c')
      const query = { collection, range: FULL_RANGE, maxItems: MANY_ITEMS, maxChars: 1 }
      const first = await database.scan(query)
      expect(first.versions).toHaveLength(1)
      expect(first.next).toMatchObject({ id: 'a', partitionKey: '["p"]' })
    })

    test('a scan goes on after its key although that document is gone', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      await fixture.write('p', 'a', 'b', 'c')
      const query = { collection, range: FULL_RANGE, maxItems: 1, maxChars: MANY_CHARS }
      const first = await database.scan(query)
      await fixture.commit(fixture.batch('p', [del('a')]))
      const second = await database.scan({ ...query, after: first.next })
      expect(second.versions.map((each) => parsed(each)['id'])).toEqual(['b'])
    })

    test('CF-7 a page of one key does not end in the middle of a transaction where what it may examine ends', async () => {
      const fixture = await EngineFixture.make(await open())
      const absent = Array.from({ length: 100 }, (_, n) => del(`x${n}`))
      // Each takes a number: 9960 of the 10,000 that a page may examine.
      for (let n = 0; n < 99; n++) committed(await fixture.commit(fixture.batch('p', absent)))
      committed(await fixture.commit(fixture.batch('p', absent.slice(0, 60))))
      const puts = Array.from({ length: 80 }, (_, n) => put(`d${n}`))
      committed(await fixture.commit(fixture.batch('q', puts)))
      const range = singleEpkRange(keyOf('q').epk)
      expect(await fixture.feedIds(range, 1000)).toHaveLength(80)
    })
  })
}
