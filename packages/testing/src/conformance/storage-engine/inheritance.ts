import { FULL_RANGE, lsn, type FeedRange } from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  DEFINITION,
  fixtureWithClock,
  keyOf,
  type EngineFixture,
  type FeedEntry,
} from './fixtures.ts'
import type { SteppedClock } from '../../stepped-clock.ts'
import { KEYS, part, within } from './ranges.ts'

/** Whatever children and merged pkranges have from those before them: horizons, expiry, fences, positions. */
export function storageEngineInheritance(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
): void {
  /** One document a key, whose id is the key. */
  const writeAll = async (fixture: EngineFixture, keys = KEYS): Promise<void> => {
    for (const pk of keys) await fixture.write(pk, pk)
  }
  const LOW = part('', '20')
  const HIGH = part('20', 'FF')
  const ids = (entries: readonly FeedEntry[]): readonly string[] => entries.map(({ id }) => id)

  describe('what a range inherits', () => {
    test('TTL-14 TTL-15 what one lease of a merged range has passed does not make the other look late', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        ranges: 2,
        definition: { defaultTtl: 5, pendingDeletes: { retentionSeconds: 0, waitFor: ['group'] } },
      })
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      await fixture.merge(high.minInclusive)
      await fixture.write(within(high)[0] ?? '', 'only')
      clock.step(5000)
      await fixture.maintain('sweep')
      const { lsn: newest } = await fixture.start({ kind: 'now' })
      await fixture.database.reportPositions(fixture.collection, [
        { group: 'group', range: low, lsn: lsn(0) },
        { group: 'group', range: high, lsn: lsn(newest) },
      ])
      await fixture.maintain('purge')
      expect((await fixture.page(0, { range: low })).horizon).toBe(0)
      expect((await fixture.page(0, { range: high })).horizon).toBe(newest)
    })

    test('CF-11 TTL-15 a child has the horizon of the log of its parent, halves of a merged range keep their own', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        ranges: 2,
        definition: { allVersions: { retentionSeconds: 1, previousImages: false } },
      })
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      for (const pk of within(low)) await fixture.write(pk, pk)
      await fixture.write(within(high)[0] ?? '', 'only')
      clock.step(1000)
      await fixture.maintain('trimVersions')
      await fixture.write(within(high)[0] ?? '', 'more')
      await fixture.merge(high.minInclusive)
      const horizonOf = async (range: FeedRange): Promise<number> =>
        (await fixture.versions(0, { range })).horizon
      const [lowHorizon, highHorizon] = await Promise.all([low, high].map(horizonOf))
      expect(highHorizon).toBeGreaterThan(0)
      expect(lowHorizon).toBeGreaterThan(highHorizon ?? Infinity)
      await fixture.split('01')
      expect(await horizonOf(part('', '01'))).toBe(lowHorizon)
      expect(await horizonOf(part('01', '08'))).toBe(lowHorizon)
      expect(await horizonOf(high)).toBe(highHorizon)
      expect(await fixture.log({ range: high })).toEqual(['create more'])
    })

    test('TTL-14 ST-9 pending deletes of both halves of a merged range are purged in LSN order', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        ranges: 2,
        definition: { defaultTtl: 5, pendingDeletes: { retentionSeconds: 0, waitFor: [] } },
      })
      const [, high] = evenRanges(2, DEFINITION.partitionKey)
      await writeAll(fixture, KEYS.slice(0, 10))
      clock.step(5000)
      await fixture.maintain('sweep')
      await fixture.merge(high?.minInclusive ?? '')
      const wanted = (await fixture.feed()).map((entry) => entry.lsn)
      expect(wanted).toHaveLength(10)
      const left: number[][] = []
      for (let pieces = 0; pieces < 10; pieces++) {
        await fixture.piece({ kind: 'purge', collection: fixture.collection }, 1)
        const page = await fixture.page(0)
        left.push(page.rows.map(([at]) => at))
        // Nothing that is gone lies above what the horizon says.
        const gone = wanted.filter((at) => !left.at(-1)?.includes(at))
        expect(page.horizon).toBeGreaterThanOrEqual(Math.max(...gone))
      }
      expect(left.map(({ length }) => length)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
      expect(await fixture.database.check()).toEqual([])
    })

    test.each(['as it was merged', 'folded'])(
      'TTL-14 CF-11 ST-9 rows of both halves with one LSN are due together, when the last of them is (%s)',
      async (state) => {
        const retentionSeconds = 60
        const { fixture, clock } = await fixtureWithClock(open, {
          ranges: 2,
          definition: {
            defaultTtl: 5,
            pendingDeletes: { retentionSeconds, waitFor: [] },
            allVersions: { retentionSeconds, previousImages: false },
          },
        })
        const [low, high] = evenRanges(2, DEFINITION.partitionKey)
        for (const range of [low, high]) {
          await fixture.write(within(range ?? LOW)[0] ?? '', 'dies')
          clock.step(5000)
          await fixture.maintain('sweep')
        }
        await fixture.merge(high?.minInclusive ?? '')
        if (state === 'folded') await fixture.maintain('fold')
        const due = async (): Promise<readonly string[]> => {
          const { tasks } = await fixture.database.readMaintenance()
          return tasks.flatMap(({ kind }) => (kind === 'fold' ? [] : [kind]))
        }
        // Each half has a create and an expiry: at 0 and 5 s, and at 5 and 10 s.
        clock.step(50_000)
        expect(await due()).toEqual([])
        clock.step(5000)
        expect(await due()).toEqual(['trimVersions'])
        expect(await fixture.maintain('trimVersions')).toBe(2)
        expect(await due()).toEqual([])
        clock.step(5000)
        expect(await due()).toEqual(['purge', 'trimVersions'])
        expect(await fixture.maintain('purge')).toBe(2)
        expect(await fixture.maintain('trimVersions')).toBe(2)
        expect(await due()).toEqual([])
      },
    )

    test('TTL-14 ST-9 rows that wait for others of their LSN do not hide what another range has to remove', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        ranges: 3,
        definition: { defaultTtl: 5, pendingDeletes: { retentionSeconds: 60, waitFor: [] } },
      })
      const [low = LOW, middle = LOW, high = HIGH] = evenRanges(3, DEFINITION.partitionKey)
      for (const ranges of [[low, high], [middle]]) {
        for (const range of ranges) await fixture.write(within(range)[0] ?? '', 'dies')
        clock.step(5000)
        await fixture.maintain('sweep')
      }
      await fixture.merge(middle.minInclusive)
      // Its children have higher numbers than the merged range, and come after it.
      await fixture.split(keyOf(within(high)[0] ?? '').epk)
      await fixture.maintain('fold')
      clock.step(55_000)
      const { tasks } = await fixture.database.readMaintenance()
      expect(tasks.map(({ kind }) => kind)).toEqual(['purge'])
      expect(await fixture.maintain('purge')).toBe(1)
      clock.step(5000)
      expect(await fixture.maintain('purge')).toBe(2)
    })

    test('TTL-14 TTL-15 pending deletes from before a split are purged in the children', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        definition: { defaultTtl: 5, pendingDeletes: { retentionSeconds: 10, waitFor: [] } },
      })
      await writeAll(fixture)
      clock.step(5000)
      await fixture.maintain('sweep')
      await fixture.split('20')
      await fixture.maintain('fold', 5)
      const feeds = await Promise.all([LOW, HIGH].map((range) => fixture.feed({ range })))
      expect(feeds.flat()).toHaveLength(KEYS.length)
      clock.step(10_000)
      expect(await fixture.maintain('purge', 4)).toBe(KEYS.length)
      for (const [index, range] of [LOW, HIGH].entries()) {
        const page = await fixture.page(0, { range })
        expect(page.rows).toEqual([])
        expect(page.horizon).toBeGreaterThanOrEqual(feeds[index]?.at(-1)?.lsn ?? Infinity)
        expect(page.horizon).toBeLessThanOrEqual(page.lsn)
      }
    })

    test('CF-11 ST-9 the log goes on across splits, merges and folding, in order within its batches', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        ranges: 2,
        definition: { allVersions: { retentionSeconds: 60, previousImages: true } },
      })
      const [, high] = evenRanges(2, DEFINITION.partitionKey)
      const written = new Map<string, string[]>()
      const write = async (keys: readonly string[]): Promise<void> => {
        for (const pk of keys) {
          const list = written.get(pk) ?? []
          const operation = list.length === 0 ? 'create' : 'replace'
          await fixture.write(pk, `${pk}-z`, `${pk}-a`)
          list.push(`${operation} ${pk}-z`, `${operation} ${pk}-a`)
          written.set(pk, list)
        }
      }
      await write(KEYS)
      await fixture.merge(high?.minInclusive ?? '')
      await write(KEYS.slice(0, 10))
      await fixture.split('18')
      await write(KEYS.slice(5, 15))
      const look = async (): Promise<void> => {
        for (const range of await fixture.ranges()) {
          const seen = await fixture.log({ range, maxItems: 3 })
          expect(seen.length).toBeGreaterThan(0)
          for (const pk of within(range)) {
            expect(seen.filter((entry) => entry.includes(` ${pk}-`))).toEqual(written.get(pk))
          }
        }
      }
      await look()
      for (;;) {
        const { tasks } = await fixture.database.readMaintenance()
        const task = tasks.find(({ kind }) => kind === 'fold')
        if (task === undefined) break
        await fixture.piece(task, 7)
        await look()
      }
      clock.step(60_000)
      await fixture.maintain('trimVersions', 5)
      for (const range of await fixture.ranges()) {
        const page = await fixture.versions(0, { range })
        expect(page.rows).toEqual([])
        expect(page.horizon).toBe(page.lsn)
      }
    })

    test('ST-9 rows that are folded into a segment of one merged half stay in the feed of the other', async () => {
      const { fixture } = await fixtureWithClock(open, { ranges: 2 })
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      const middle = high.minInclusive
      await writeAll(fixture, within(low))
      const fold = (range: number): Promise<unknown> =>
        fixture.piece({ kind: 'fold', collection: fixture.collection, range })
      // The high half begins above all rows of the low half, so the segment that is folded now is below its own.
      await fixture.merge(middle)
      await fixture.split(middle)
      const [, upper] = await fixture.split('10')
      await fold(upper.number)
      await writeAll(fixture, within(high))
      await fixture.split('30')
      const merged = await fixture.merge(middle)
      await fold(merged.number)
      const half = part(middle, '30')
      expect([...ids(await fixture.feed({ range: half }))].sort()).toEqual([...within(half)].sort())
      await fixture.split(middle)
      expect([...ids(await fixture.feed({ range: half }))].sort()).toEqual([...within(half)].sort())
    })

    test('CF-6 ST-9 a start at a time loses nothing of a merged range', async () => {
      const { fixture, clock } = await fixtureWithClock(open, { ranges: 2 })
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      // High LSNs early in one half, low ones late in the other.
      for (const pk of within(low)) await fixture.write(pk, pk)
      clock.step(10_000)
      const late = within(high).slice(0, 3)
      await writeAll(fixture, late)
      const ts = Math.floor(fixture.database.nowMs() / 1000)
      await fixture.merge(high.minInclusive)
      for (const maxItems of [1, 1000]) {
        await fixture.maintain('fold', maxItems)
        const start = await fixture.start({ kind: 'time', ts })
        const seen = ids(await fixture.feed({ afterLsn: start.lsn }))
        expect(late.every((id) => seen.includes(id))).toBe(true)
      }
    })

    test('TTL-14 ST-9 positions of groups stay what they are when ranges are split and merged', async () => {
      const { fixture } = await fixtureWithClock(open)
      const { database, collection } = fixture
      await database.reportPositions(collection, [
        { group: 'group', range: FULL_RANGE, lsn: lsn(7) },
      ])
      const before = await database.readPositions(collection, 'group')
      await fixture.split('20')
      expect(await database.readPositions(collection, 'group')).toEqual(before)
      await fixture.merge('20')
      expect(await database.readPositions(collection, 'group')).toEqual(before)
    })

    test('ST-9 CF-11 between pieces of folding a page has every document, though the log has more rows', async () => {
      const { fixture } = await fixtureWithClock(open, {
        definition: { allVersions: { retentionSeconds: 60, previousImages: false } },
      })
      // All in the lower half, which is folded first.
      const [low = '', high = ''] = ['a', 'b'].toSorted((a, b) =>
        keyOf(a).epk < keyOf(b).epk ? -1 : 1,
      )
      const ids = Array.from({ length: 10 }, (_, n) => `d${n}`)
      // Three versions each: the log has three rows for each document.
      for (let round = 0; round < 3; round++) for (const id of ids) await fixture.write(low, id)
      const all = await fixture.feedIds()
      await fixture.split(keyOf(high).epk)
      expect(all).toHaveLength(10)
      for (let more = true; more;) {
        const { tasks } = await fixture.database.readMaintenance()
        const task = tasks.find(({ kind }) => kind === 'fold')
        if (task === undefined) break
        await fixture.piece(task, 4)
        const seen = await Promise.all(
          (await fixture.ranges()).map((range) => fixture.feedIds(range)),
        )
        expect(seen.flat()).toEqual(all)
        more = tasks.length > 0
      }
    })
  })
}
