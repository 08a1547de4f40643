import { FULL_RANGE, type FeedRange } from '@tidemark/contracts'
import type { FeedCount } from '@tidemark/store/engine'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { START_MS, fixtureWithClock, EngineFixture, committed, del, keyOf } from './fixtures.ts'
import type { SteppedClock } from '../../stepped-clock.ts'

const KEYS: readonly string[] = ['p', 'q', 'r', 's', 't', 'u', 'v', 'w']

/** How much a reader has before it, without reading it. */
export function storageEngineCounts(open: (clock?: SteppedClock) => Promise<StorageEngine>): void {
  const logged = { definition: { allVersions: { retentionSeconds: 60, previousImages: false } } }
  const summary = ({ rows, isExact, newestLsn }: FeedCount): readonly unknown[] => [
    rows,
    isExact,
    newestLsn,
  ]

  /** Single documents, transactions, and some that are deleted again. */
  const fill = async (fixture: EngineFixture, from: number, count: number): Promise<void> => {
    for (let n = from; n < from + count; n++) {
      const pk = KEYS[n % KEYS.length] ?? ''
      await fixture.write(pk, `d${n}`, ...(n % 4 === 3 ? [`e${n}`, `f${n}`] : []))
      if (n % 7 === 6) await fixture.commit(fixture.batch(pk, [del(`d${n}`)]))
    }
  }

  /** From everywhere, in both modes, the counts are of what the pages have. */
  const expectCounts = async (fixture: EngineFixture, range: FeedRange): Promise<void> => {
    const { lsn: newestLsn } = await fixture.start({ kind: 'now' }, { range })
    for (const mode of ['latestVersion', 'allVersions'] as const) {
      for (let afterLsn = 0; afterLsn <= newestLsn; afterLsn += 3) {
        const { rows } =
          mode === 'latestVersion'
            ? await fixture.page(afterLsn, { range })
            : await fixture.versions(afterLsn, { range })
        const count = await fixture.counted(afterLsn, { range, mode })
        expect(summary(count)).toEqual([rows.length, true, newestLsn])
      }
    }
  }

  describe('counts', () => {
    test('PH-9 a count is of what the pages have, from every position, in both modes', async () => {
      const fixture = await EngineFixture.make(await open(), logged)
      await fill(fixture, 0, 30)
      await expectCounts(fixture, FULL_RANGE)
      const last = committed(await fixture.commit(fixture.batch('p', [del('d0')])))
      // The newest commit left nothing in the feed.
      const { rows } = await fixture.page(last - 3)
      expect(rows.at(-1)?.[0]).toBeLessThan(last)
      expect(summary(await fixture.counted(last - 3))).toEqual([rows.length, true, last])
      expect(summary(await fixture.counted(last))).toEqual([0, true, last])
      expect((await fixture.counted(last)).oldestMs).toBeUndefined()
    })

    test('PH-9 CF-7 it ends at the limit, with a whole transaction, and says that there may be more', async () => {
      const fixture = await EngineFixture.make(await open(), logged)
      await fixture.write('p', 'a')
      await fixture.write('p', 'b', 'c', 'd')
      const newest = await fixture.write('p', 'e')
      for (const mode of ['latestVersion', 'allVersions'] as const) {
        const count = async (afterLsn: number, maxItems: number) =>
          summary(await fixture.counted(afterLsn, { mode, maxItems }))
        expect(await count(0, 1)).toEqual([1, false, newest])
        expect(await count(0, 2)).toEqual([4, false, newest])
        expect(await count(0, 4)).toEqual([4, false, newest])
        expect(await count(0, 6)).toEqual([5, true, newest])
        // A position beyond is the caller's to refuse.
        expect(await count(newest + 5, 5)).toEqual([0, true, newest])
      }
    })

    test('PH-9 CF-11 of the log the oldest is known to the millisecond; what was trimmed is told', async () => {
      const { fixture, clock } = await fixtureWithClock(open, logged)
      const first = await fixture.write('p', 'a')
      clock.step(1234)
      const second = committed(await fixture.commit(fixture.batch('p', [del('a')])))
      const counted = (afterLsn: number) => fixture.counted(afterLsn, { mode: 'allVersions' })
      expect(await counted(0)).toMatchObject({ rows: 2, oldestMs: START_MS, horizons: [] })
      expect(await counted(first)).toMatchObject({ rows: 1, oldestMs: START_MS + 1234 })
      clock.step(60_000)
      await fixture.maintain('trimVersions')
      const { horizons, rows } = await fixture.versions(0)
      expect(horizons.length).toBeGreaterThan(0)
      expect(await counted(0)).toMatchObject({ rows: rows.length, horizons, newestLsn: second })
    })

    test('PH-9 CF-7 CF-11 entries from before the log was switched on again take no room on a page, and do not count', async () => {
      const fixture = await EngineFixture.make(await open(), logged)
      const { allVersions } = logged.definition
      const read = async (range: FeedRange): Promise<readonly unknown[]> => {
        const [query, mode] = [{ range, maxItems: 1 }, 'allVersions'] as const
        const page = await fixture.versions(0, query)
        const ids = page.rows.map(({ id }) => id)
        return [ids, page.caughtUp, summary(await fixture.counted(0, { ...query, mode }))]
      }
      for (const pk of KEYS) await fixture.write(pk, 'old')
      await fixture.update({ allVersions: null })
      await fixture.update({ allVersions })
      const began = KEYS.length
      expect(await read(FULL_RANGE)).toEqual([[], true, [0, true, began]])
      // Also where the one at the horizon itself is the only one that is left.
      expect((await fixture.versions(began - 1)).rows).toEqual([])
      await fixture.write('p', 'new', 'same')
      const newest = await fixture.write('p', 'newer')
      expect(await read(FULL_RANGE)).toEqual([['new', 'same'], false, [2, false, newest]])
      // Each half has a beginning of its own, also when they are one again.
      const { epk } = keyOf('p')
      await fixture.split(epk)
      await fixture.write('p', 'high')
      await fixture.update({ allVersions: null })
      await fixture.update({ allVersions })
      await fixture.merge(epk)
      const { lsn } = await fixture.start({ kind: 'now' })
      expect(await read(FULL_RANGE)).toEqual([[], true, [0, true, lsn]])
    })

    test('a range that is gone and a log that is off are told by their codes', async () => {
      const fixture = await EngineFixture.make(await open())
      await expect(fixture.counted(0, { mode: 'allVersions' })).rejects.toMatchObject({
        code: 'ERR_ALL_VERSIONS_OFF',
      })
      await fixture.split('20')
      await expect(fixture.counted(0)).rejects.toMatchObject({ code: 'ERR_RANGE_GONE' })
    })
  })
}
