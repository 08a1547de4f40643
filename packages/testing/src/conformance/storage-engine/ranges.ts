import { FULL_RANGE, rangeContains, rangeContainsEpk, type FeedRange } from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  fixtureWithClock,
  DEFINITION,
  EngineFixture,
  committed,
  keyOf,
  put,
  type FeedEntry,
} from './fixtures.ts'
import type { SteppedClock } from '../../stepped-clock.ts'

/** Keys with documents on both sides of every cut below. */
export const KEYS: readonly string[] = Array.from({ length: 40 }, (_, n) => `p${n}`)

export function part(minInclusive: string, maxExclusive: string): FeedRange {
  return { minInclusive, maxExclusive }
}

/** Of entries or keys, those in a part of the keys. */
export function within(range: FeedRange, keys: readonly string[] = KEYS): readonly string[] {
  return keys.filter((pk) => rangeContainsEpk(range, keyOf(pk).epk))
}

/** Splits and merges of pkranges. */
export function storageEngineRanges(open: (clock?: SteppedClock) => Promise<StorageEngine>): void {
  const LOW = part('', '20')
  const HIGH = part('20', 'FF')

  /** One document a key, whose id is the key. */
  const writeAll = async (fixture: EngineFixture, keys = KEYS): Promise<void> => {
    for (const pk of keys) await fixture.write(pk, pk)
  }

  describe('splits', () => {
    test('ST-9 a range that is gone says what took its place', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      const [parent] = await fixture.ranges()
      const range = parent?.number ?? -1
      await fixture.split('20')
      const gone = { code: 'ERR_RANGE_GONE', successors: [LOW, HIGH] }
      await expect(fixture.page(0)).rejects.toMatchObject(gone)
      await expect(fixture.start({ kind: 'now' })).rejects.toMatchObject(gone)
      await expect(fixture.waitIn(FULL_RANGE, 0)).rejects.toMatchObject(gone)
      await expect(database.firstOwnLsn(collection, FULL_RANGE)).rejects.toMatchObject(gone)
      await expect(database.splitRange({ collection, range, at: '10' })).rejects.toMatchObject(gone)
      await expect(database.measureRange(collection, range)).rejects.toMatchObject(gone)
      await expect(database.middleEpk(collection, range)).rejects.toMatchObject(gone)
      const [low] = await fixture.ranges()
      const ranges = [low?.number ?? -1, range] as const
      await expect(database.mergeRanges({ collection, ranges })).rejects.toMatchObject(gone)
    })

    test('ST-9 a split that is not inside its range is refused', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const { database, collection } = fixture
      const before = await fixture.ranges()
      const [low, high] = before
      for (const [range, at] of [
        [low, ''],
        [low, low?.maxExclusive],
        [high, high?.minInclusive],
        [high, 'FF'],
        [high, '01'],
      ] as const) {
        await expect(
          database.splitRange({ collection, range: range?.number ?? -1, at: at ?? '' }),
        ).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
      }
      expect(await fixture.ranges()).toEqual(before)
      await database.deleteCollection('coll')
      await expect(
        database.splitRange({ collection, range: low?.number ?? -1, at: '01' }),
      ).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
    })

    test('ST-9 the middle leaves documents on both sides', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      const middle = (): Promise<string | undefined> => database.middleEpk(collection, 0)
      expect(await middle()).toBeUndefined()
      const byEpk = KEYS.toSorted((a, b) => (keyOf(a).epk < keyOf(b).epk ? -1 : 1))
      const [first = '', second = '', third = ''] = byEpk
      await fixture.write(first, 'a', 'b', 'c')
      expect(await middle()).toBeUndefined()
      await fixture.write(second, 'a')
      expect(await middle()).toBe(keyOf(second).epk)
      await fixture.write(third, 'a')
      expect(await middle()).toBe(keyOf(second).epk)
      await writeAll(fixture)
      const at = (await middle()) ?? ''
      const low = within(part('', at)).length
      expect(Math.abs(low - KEYS.length / 2)).toBeLessThanOrEqual(3)
    })

    test('TTL-11 expired documents count neither for the middle nor for the size of a range', async () => {
      const { fixture, clock } = await fixtureWithClock(open, { definition: { defaultTtl: -1 } })
      const { database, collection } = fixture
      const byEpk = KEYS.toSorted((a, b) => (keyOf(a).epk < keyOf(b).epk ? -1 : 1))
      for (const [index, pk] of byEpk.entries()) {
        await fixture.commit(fixture.batch(pk, [put('a', { ttl: index < 38 ? 5 : 0 })]))
      }
      clock.step(5000)
      const left = byEpk.slice(-2).map((pk) => keyOf(pk).epk)
      expect(await database.middleEpk(collection, 0)).toBe(left[1])
      expect(await database.measureRange(collection, 0)).toMatchObject({ documents: 2 })
      await fixture.maintain('sweep')
      expect(await database.middleEpk(collection, 0)).toBe(left[1])
      expect(await database.measureRange(collection, 0)).toMatchObject({ documents: 2 })
    })
  })

  describe('merges', () => {
    test('ST-9 CF-7 a merged range has both feeds in LSN order, and cuts no LSN that both have', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      for (const pk of KEYS) await fixture.write(pk, pk, `${pk}-2`)
      const lows = await fixture.feed({ range: low })
      const highs = await fixture.feed({ range: high })
      await fixture.merge(high.minInclusive)
      const equal = lows.filter((entry) => highs.some((other) => other.lsn === entry.lsn))
      // Otherwise this test shows nothing.
      expect(equal.length).toBeGreaterThan(3)
      const wanted = [...lows, ...highs].sort((a, b) => a.lsn - b.lsn)
      const order = (entries: readonly FeedEntry[]): readonly string[] =>
        entries.map((entry) => `${String(entry.lsn).padStart(6, '0')} ${entry.id}`).sort()
      for (const maxItems of [1, 2, 3, 7, 1000]) {
        const seen = await fixture.feed({ maxItems })
        expect(seen.map((entry) => entry.lsn)).toEqual(wanted.map((entry) => entry.lsn))
        expect(order(seen)).toEqual(order(wanted))
        // A page that ends between two rows of one LSN would lose the second of them.
        for (const { lsn: afterLsn } of wanted) {
          const rest = wanted.filter((entry) => entry.lsn > afterLsn)
          expect(order(await fixture.feed({ afterLsn, maxItems }))).toEqual(order(rest))
        }
      }
    })

    test('ST-9 positions at or above the first own LSN lie above everything from before', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const { database, collection } = fixture
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      expect(await database.firstOwnLsn(collection, low)).toBe(0)
      await writeAll(fixture)
      expect(await database.firstOwnLsn(collection, part('', '01'))).toBeLessThanOrEqual(
        (await fixture.start({ kind: 'now' }, { range: low })).lsn,
      )
      const lsns = await Promise.all(
        [low, high].map(async (range) => (await fixture.start({ kind: 'now' }, { range })).lsn),
      )
      await fixture.merge(high.minInclusive)
      for (const range of [FULL_RANGE, low, high, part('10', '30')]) {
        expect(await database.firstOwnLsn(collection, range)).toBe(Math.max(...lsns))
      }
      await fixture.split('01')
      expect(await database.firstOwnLsn(collection, part('', '01'))).toBe(Math.max(...lsns))
    })
  })

  describe('waiting across splits and merges', () => {
    test('ST-9 CF-12 readers of a range that is split wake at once, also those whose keys stay together', async () => {
      const fixture = await EngineFixture.make(await open())
      const at = await fixture.write('p', 'a')
      const waits = [FULL_RANGE, LOW, part('', '08'), HIGH].map((range) =>
        fixture.waitIn(range, at),
      )
      await fixture.split('20')
      expect(await Promise.all(waits)).toEqual([true, true, true, true])
      // The next wait of one whose keys stayed together is on the child.
      const again = fixture.waitIn(LOW, at)
      const [pk = ''] = within(LOW)
      await fixture.write(pk, 'new')
      expect(await again).toBe(true)
    })

    test('ST-9 CF-12 readers of ranges that are merged wake at once', async () => {
      const fixture = await EngineFixture.make(await open())
      const at = await fixture.write('p', 'a')
      await fixture.split('20')
      const waits = [LOW, HIGH].map((range) => fixture.waitIn(range, at))
      await fixture.merge('20')
      expect(await Promise.all(waits)).toEqual([true, true])
      const again = fixture.waitIn(HIGH, at)
      const [pk = ''] = within(HIGH)
      await fixture.write(pk, 'new')
      expect(await again).toBe(true)
    })

    test('ST-9 a split of another range wakes nobody', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      const { database, collection } = fixture
      const { signal } = new AbortController()
      const wait = database.waitForCommit({
        collection,
        range: high,
        afterLsn: 0,
        timeoutMs: 30,
        signal,
      })
      await fixture.split('01')
      expect(await wait).toBe(false)
    })
  })

  describe('long histories', () => {
    test('ST-9 a range that was split and merged a hundred times is right, before and after folding', async () => {
      const fixture = await EngineFixture.make(await open())
      const last = new Map<string, number>()
      for (let round = 0; round < 100; round++) {
        const pk = KEYS[(round * 7) % KEYS.length] ?? ''
        await fixture.split('20')
        last.set(pk, await fixture.write(pk, pk))
        await fixture.merge('20')
      }
      const look = async (): Promise<void> => {
        const seen = await fixture.feed()
        expect(new Map(seen.map((entry) => [entry.id, entry.lsn]))).toEqual(last)
        expect(seen).toHaveLength(last.size)
      }
      await look()
      expect((await fixture.ranges())[0]?.parents).toHaveLength(300)
      await fixture.maintain('fold', 3)
      await look()
      expect(await fixture.database.check()).toEqual([])
    })
  })

  describe('folding', () => {
    for (const maxItems of [1, 3, 1000]) {
      test(`ST-9 folding in pieces of ${maxItems} changes no page at any position`, async () => {
        const fixture = await EngineFixture.make(await open(), 2)
        const [, high] = evenRanges(2, DEFINITION.partitionKey)
        for (const pk of KEYS.slice(0, 12)) await fixture.write(pk, pk, `${pk}-2`)
        await fixture.merge(high?.minInclusive ?? '')
        for (const pk of KEYS.slice(12, 18)) await fixture.write(pk, pk)
        await fixture.split('18')
        for (const pk of KEYS.slice(6, 9)) await fixture.write(pk, pk)
        const ranges = [part('', '18'), part('18', 'FF'), part('08', '10')]
        const order = (entries: readonly FeedEntry[]): readonly string[] =>
          entries.map((entry) => `${entry.lsn} ${entry.id}`).sort()
        const wanted = await Promise.all(ranges.map((range) => fixture.feed({ range })))
        const look = async (): Promise<void> => {
          for (const [index, range] of ranges.entries()) {
            const entries = wanted[index] ?? []
            for (const afterLsn of [0, ...entries.map((entry) => entry.lsn)]) {
              const rest = entries.filter((entry) => entry.lsn > afterLsn)
              const seen = await fixture.feed({ range, afterLsn, maxItems: 2 })
              expect(order(seen)).toEqual(order(rest))
            }
          }
        }
        let pieces = 0
        for (;;) {
          await look()
          const { tasks } = await fixture.database.readMaintenance()
          const task = tasks.find(({ kind }) => kind === 'fold')
          if (task === undefined) break
          await fixture.piece(task, maxItems)
          expect(await fixture.database.check()).toEqual([])
          pieces++
        }
        expect(pieces).toBeGreaterThanOrEqual(maxItems === 1 ? 10 : 2)
      })
    }
  })

  describe('splits and merges under load', () => {
    test('ST-9 ST-5 CF-3 followers of every key see every write in order while ranges come and go', async () => {
      const fixture = await EngineFixture.make(await open())
      const rounds = 12
      let isWriting = true
      const write = async (): Promise<void> => {
        for (let n = 0; n < rounds; n++) {
          await Promise.all(
            KEYS.slice(0, 20).map(async (pk) => {
              committed(await fixture.commit(fixture.batch(pk, [put(`${pk}/${n}`, { n })])))
            }),
          )
        }
        isWriting = false
      }
      const change = async (): Promise<void> => {
        for (let round = 0; isWriting; round++) {
          const at = ['08', '20', '30'][round % 3] ?? ''
          await fixture.split(at)
          if (round % 2 === 0) await fixture.maintain('fold', 4)
          await fixture.merge(at)
        }
      }
      const follow = async (range: FeedRange): Promise<readonly FeedEntry[]> => {
        const seen: FeedEntry[] = []
        const readers = [{ range, lsn: 0 }]
        for (let turn = 0; readers.length > 0; turn++) {
          const isLast = !isWriting
          const reader = readers[turn % readers.length]
          if (reader === undefined) break
          try {
            const page = await fixture.page(reader.lsn, { range: reader.range, maxItems: 3 })
            reader.lsn = page.lsn
            for (const [at, kind, body] of page.rows) {
              const { id, n } = JSON.parse(body) as { id: string; n: number }
              seen.push({ lsn: at, kind, id, n, expirySecond: 0 })
            }
            if (page.caughtUp && isLast) readers.splice(readers.indexOf(reader), 1)
          } catch (error) {
            const { successors } = error as { successors: readonly FeedRange[] }
            const parts = successors.map((successor) => {
              const { minInclusive: low, maxExclusive: high } = successor
              const cut = part(
                low > reader.range.minInclusive ? low : reader.range.minInclusive,
                high < reader.range.maxExclusive ? high : reader.range.maxExclusive,
              )
              expect(rangeContains(reader.range, cut)).toBe(true)
              return { range: cut, lsn: reader.lsn }
            })
            readers.splice(readers.indexOf(reader), 1, ...parts)
          }
          // An engine may read on this thread without waiting: then nothing else would ever run.
          await new Promise((resolve) => setImmediate(resolve))
        }
        return seen
      }
      const [whole, half] = await Promise.all([
        follow(FULL_RANGE),
        follow(part('10', '28')),
        write(),
        change(),
      ])
      for (const [seen, range] of [
        [whole, FULL_RANGE],
        [half, part('10', '28')],
      ] as const) {
        for (const pk of within(range, KEYS.slice(0, 20))) {
          const order = seen.filter(({ id }) => id.startsWith(`${pk}/`)).map(({ n }) => n)
          expect(order).toEqual(Array.from({ length: rounds }, (_, n) => n))
        }
      }
      expect(await fixture.database.check()).toEqual([])
    })
  })
}
