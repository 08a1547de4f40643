import {
  FULL_RANGE,
  evenRanges,
  rangeContainsEpk,
  type FeedRow,
  feedVersion,
} from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import type { FeedStart, ScanPosition } from '@tidemark/store/engine'
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
} from './storage-engine-fixtures.ts'

/** Feed pages, starts, waits and scans. */
export function storageEngineFeed(open: () => Promise<StorageEngine>): void {
  const idsOf = (rows: readonly FeedRow[]): readonly unknown[] => rows.map(([, , , , , , id]) => id)

  describe('feed pages', () => {
    test('CF-2 CF-3 each document is there once, at the place of its newest version', async () => {
      const fixture = await EngineFixture.make(await open())
      for (const id of ['a', 'b', 'c', 'a', 'd', 'b']) await fixture.write('p', id)
      expect(await fixture.feedIds()).toEqual(['c', 'a', 'd', 'b'])
      const page = await fixture.page(0)
      expect(page.rows.map((row) => [row[1], feedVersion(row).lsn])).toEqual(
        page.rows.map(([lsn]) => [0, lsn]),
      )
    })

    test('CF-1 a commit that was acknowledged is in the next page', async () => {
      const fixture = await EngineFixture.make(await open())
      let lsn = 0
      for (let n = 0; n < 20; n++) {
        const written = await fixture.write('p', `d${n}`)
        const page = await fixture.page(lsn)
        expect(idsOf(page.rows)).toEqual([`d${n}`])
        expect(page).toMatchObject({ lsn: written, caughtUp: true })
        lsn = page.lsn
      }
    })

    test('CF-7 a page has at most maxItems rows and ends at the LSN of its last', async () => {
      const fixture = await EngineFixture.make(await open())
      let newest = 0
      for (let n = 0; n < 10; n++) newest = await fixture.write('p', `d${n}`)
      const first = await fixture.page(0, { maxItems: 4 })
      expect(idsOf(first.rows)).toEqual(['d0', 'd1', 'd2', 'd3'])
      expect(first.lsn).toBe(first.rows.at(-1)?.[0])
      expect(first.caughtUp).toBe(false)
      expect(first.newestLsn).toBe(newest)
      const second = await fixture.page(first.lsn, { maxItems: 4 })
      expect(idsOf(second.rows)).toEqual(['d4', 'd5', 'd6', 'd7'])
      const third = await fixture.page(second.lsn, { maxItems: 4 })
      expect(idsOf(third.rows)).toEqual(['d8', 'd9'])
      expect(third).toMatchObject({ caughtUp: true, newestLsn: newest })
    })

    test('CF-7 all documents of one transaction come on one page, which then exceeds maxItems', async () => {
      const fixture = await EngineFixture.make(await open())
      await fixture.write('p', 'a')
      await fixture.write('q', 'b', 'c', 'd', 'e')
      await fixture.write('p', 'f')
      const first = await fixture.page(0, { maxItems: 2 })
      expect(idsOf(first.rows)).toEqual(['a', 'b', 'c', 'd', 'e'])
      const second = await fixture.page(first.lsn, { maxItems: 2 })
      expect(idsOf(second.rows)).toEqual(['f'])
    })

    test('CF-7 a transaction of which most was replaced stays whole on its page', async () => {
      const fixture = await EngineFixture.make(await open())
      await fixture.write('p', 'a', 'b', 'c', 'd', 'e')
      await fixture.write('p', 'b')
      await fixture.write('p', 'c')
      expect(idsOf((await fixture.page(0, { maxItems: 1 })).rows)).toEqual(['a', 'd', 'e'])
    })

    test('a page also ends after the transaction that reaches maxChars', async () => {
      const fixture = await EngineFixture.make(await open())
      for (let n = 0; n < 5; n++) await fixture.write('p', `d${n}`, `e${n}`)
      const page = await fixture.page(0, { maxChars: 1 })
      expect(idsOf(page.rows)).toEqual(['d0', 'e0'])
      expect(page.caughtUp).toBe(false)
    })

    test('CF-7 an empty page is "not modified" and its position usable', async () => {
      const fixture = await EngineFixture.make(await open())
      expect(await fixture.page(0)).toMatchObject({ rows: [], caughtUp: true })
      const lsn = await fixture.write('p', 'a')
      const empty = await fixture.page(lsn)
      expect(empty).toMatchObject({ rows: [], lsn, caughtUp: true })
      await fixture.write('p', 'b')
      expect(idsOf((await fixture.page(empty.lsn)).rows)).toEqual(['b'])
    })

    test('a position above the newest is answered with the newest, so that it can be refused', async () => {
      const fixture = await EngineFixture.make(await open())
      const lsn = await fixture.write('p', 'a')
      expect(await fixture.page(lsn + 1000)).toMatchObject({ rows: [], lsn, newestLsn: lsn })
    })

    test('a delete takes the document out of the feed and moves the position on', async () => {
      const fixture = await EngineFixture.make(await open())
      const before = await fixture.write('p', 'a', 'b')
      const lsn = committed(await fixture.commit(fixture.batch('p', [del('b')])))
      expect(lsn).toBeGreaterThan(before)
      expect(await fixture.feedIds()).toEqual(['a'])
      const page = await fixture.page(before)
      expect(page).toMatchObject({ rows: [], lsn, caughtUp: true })
      // The newest row is gone, but its LSN is not given out again.
      expect(await fixture.write('p', 'c')).toBeGreaterThan(lsn)
    })

    test('CF-4 the beginning is there however often documents were replaced', async () => {
      const fixture = await EngineFixture.make(await open())
      const ids = Array.from({ length: 30 }, (_, n) => `d${n}`)
      for (let round = 0; round < 80; round++) await fixture.write('p', ...ids)
      await fixture.write('p', 'd7')
      expect(await fixture.feedIds()).toEqual([...ids.filter((id) => id !== 'd7'), 'd7'])
      expect(await fixture.database.check()).toEqual([])
    })

    test('CF-5 each range has its own documents and its own LSNs', async () => {
      const fixture = await EngineFixture.make(await open(), 4)
      const ranges = evenRanges(4, DEFINITION.partitionKey)
      const keys = Array.from({ length: 40 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, pk)
      for (const range of ranges) {
        const wanted = keys.filter((pk) => rangeContainsEpk(range, keyOf(pk).epk))
        expect(wanted.length).toBeGreaterThan(0)
        expect(await fixture.feedIds(range)).toEqual(wanted)
      }
    })

    test('a range within a pkrange is its part of the feed', async () => {
      const fixture = await EngineFixture.make(await open())
      const keys = Array.from({ length: 40 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, pk, `${pk}-2`)
      const range = { minInclusive: '08', maxExclusive: '20' }
      const wanted = keys.filter((pk) => rangeContainsEpk(range, keyOf(pk).epk))
      expect(wanted.length).toBeGreaterThan(0)
      expect(await fixture.feedIds(range, 1)).toEqual(wanted.flatMap((pk) => [pk, `${pk}-2`]))
    })

    test('a range that is not inside one pkrange is gone, and the error names those that are', async () => {
      const fixture = await EngineFixture.make(await open(), 4)
      const ranges = evenRanges(4, DEFINITION.partitionKey)
      const gone = { code: 'ERR_RANGE_GONE', successors: ranges }
      await expect(fixture.page(0)).rejects.toMatchObject(gone)
      await expect(fixture.start({ kind: 'now' })).rejects.toMatchObject(gone)
    })
  })

  describe('start positions', () => {
    test('CF-6 beginning, now, and the first change of a second', async () => {
      const fixture = await EngineFixture.make(await open())
      const resolve = async (start: FeedStart): Promise<number> => (await fixture.start(start)).lsn
      expect(await resolve({ kind: 'now' })).toBe(0)
      const lsn = await fixture.write('p', 'a')
      const ts = Number((await fixture.read('p', 'a'))?.['_ts'])
      expect(await resolve({ kind: 'beginning' })).toBe(0)
      expect(await resolve({ kind: 'now' })).toBe(lsn)
      const atThatSecond = await resolve({ kind: 'time', ts })
      expect(idsOf((await fixture.page(atThatSecond)).rows)).toEqual(['a'])
      expect(await resolve({ kind: 'time', ts: ts + 1_000_000 })).toBe(lsn)
    })
  })

  describe('waiting', () => {
    test('CF-12 a waiting reader wakes at a commit', async () => {
      const fixture = await EngineFixture.make(await open())
      const lsn = await fixture.write('p', 'a')
      const waits = Array.from({ length: 20 }, () => fixture.wait(lsn, 20_000))
      await fixture.write('p', 'b')
      expect(new Set(await Promise.all(waits))).toEqual(new Set([true]))
    })

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
    test('ST-8 pages through all live documents in key order, each once', async () => {
      const fixture = await EngineFixture.make(await open(), 3)
      const { database, collection } = fixture
      const keys = Array.from({ length: 25 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, 'a', 'b', 'c')
      await fixture.commit(fixture.batch('p3', [del('b')]))
      const epks: string[] = []
      const seen: unknown[] = []
      for (let after: ScanPosition | undefined; ;) {
        const page = await database.scan({
          collection,
          range: FULL_RANGE,
          after,
          maxItems: 7,
          maxChars: MANY_CHARS,
        })
        expect(page.versions.length).toBeLessThanOrEqual(7)
        seen.push(...page.versions.map((each) => parsed(each)['id']))
        if (page.next === undefined) break
        epks.push(page.next.epk)
        after = page.next
      }
      expect(seen).toHaveLength(74)
      expect(epks).toEqual([...epks].sort())
    })

    test('a scan keeps to its range, and to one partition key value', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      const keys = Array.from({ length: 30 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, `${pk}-b`, `${pk}-a`)
      const limits = { maxItems: MANY_ITEMS, maxChars: MANY_CHARS }
      const range = { minInclusive: '10', maxExclusive: '28' }
      const part = await database.scan({ collection, range, ...limits })
      const wanted = keys.filter((pk) => rangeContainsEpk(range, keyOf(pk).epk))
      expect(part.versions).toHaveLength(wanted.length * 2)
      expect(part.next).toBeUndefined()
      const { epk, partitionKey } = keyOf('p7')
      const single = { minInclusive: epk, maxExclusive: `${epk}00` }
      const one = await database.scan({ collection, range: single, partitionKey, ...limits })
      expect(one.versions.map((each) => parsed(each)['id'])).toEqual(['p7-a', 'p7-b'])
    })

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
  })
}
