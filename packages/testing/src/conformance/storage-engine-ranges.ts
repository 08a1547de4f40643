import {
  FULL_RANGE,
  evenRanges,
  rangeContains,
  rangeContainsEpk,
  type FeedRange,
} from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { fixtureWithClock } from './storage-engine-expiry.ts'
import {
  DEFINITION,
  EngineFixture,
  committed,
  del,
  keyOf,
  put,
  type FeedEntry,
} from './storage-engine-fixtures.ts'
import type { SteppedClock } from './stepped-clock.ts'

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
  const ids = (entries: readonly FeedEntry[]): readonly string[] => entries.map(({ id }) => id)

  describe('splits', () => {
    test('ST-9 a split puts two ranges that meet there into the place of one', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const [first, second] = evenRanges(2, DEFINITION.partitionKey)
      const at = '08'
      const [low, high] = await fixture.split(at)
      expect(low).toMatchObject({ ...first, maxExclusive: at, number: 2, parents: [0] })
      expect(high).toMatchObject({ ...first, minInclusive: at, number: 3, parents: [0] })
      const ranges = await fixture.ranges()
      expect(ranges).toEqual([low, high, expect.objectContaining({ ...second, number: 1 })])
      const [, third] = await fixture.split('0C')
      expect(third).toMatchObject({ number: 5, parents: [0, 3] })
    })

    test('ST-9 children have the documents and the feed of their keys', async () => {
      const fixture = await EngineFixture.make(await open())
      await writeAll(fixture)
      await fixture.split('20')
      expect(await fixture.count()).toBe(KEYS.length)
      for (const range of [LOW, HIGH]) {
        expect(within(range).length).toBeGreaterThan(5)
        expect(await fixture.feedIds(range)).toEqual(within(range))
      }
      for (const pk of KEYS) expect(await fixture.read(pk, pk)).toMatchObject({ id: pk })
    })

    test('ST-9 CF-8 every position of the parent is valid on both children', async () => {
      const fixture = await EngineFixture.make(await open())
      for (const pk of KEYS) await fixture.write(pk, pk, `${pk}-2`)
      const parent = await fixture.feed()
      const positions = [0, ...new Set(parent.map((entry) => entry.lsn))]
      await fixture.split('20')
      await writeAll(fixture, KEYS.slice(0, 6))
      for (const range of [LOW, HIGH]) {
        const whole = await fixture.feed({ range })
        for (const [index, afterLsn] of positions.entries()) {
          const wanted = whole.filter((entry) => entry.lsn > afterLsn)
          const maxItems = 1 + (index % 4)
          expect(await fixture.feed({ range, afterLsn, maxItems })).toEqual(wanted)
        }
      }
    })

    test('ST-9 ST-5 LSNs of both children go on above the newest of the parent', async () => {
      const fixture = await EngineFixture.make(await open())
      await writeAll(fixture)
      const { lsn: newest } = await fixture.start({ kind: 'now' })
      await fixture.split('20')
      for (const range of [LOW, HIGH]) {
        expect(await fixture.start({ kind: 'now' }, { range })).toMatchObject({ lsn: newest })
        expect(await fixture.page(newest, { range })).toMatchObject({
          rows: [],
          lsn: newest,
          caughtUp: true,
        })
        const [pk = ''] = within(range)
        const written = await fixture.write(pk, 'new')
        expect(written).toBeGreaterThan(newest)
        expect(ids(await fixture.feed({ range, afterLsn: newest }))).toEqual(['new'])
      }
    })

    test('ST-9 documents from before a split are updated, deleted and judged as ever', async () => {
      const fixture = await EngineFixture.make(await open())
      await writeAll(fixture)
      const before = await fixture.read('p3', 'p3')
      await fixture.split('20')
      const condition = { kind: 'lsn', lsn: Number(before?.['_lsn']) } as const
      committed(await fixture.commit(fixture.batch('p3', [put('p3', { n: 1, condition })])))
      committed(await fixture.commit(fixture.batch('p5', [del('p5', { kind: 'present' })])))
      const seen = [
        ...(await fixture.feed({ range: LOW })),
        ...(await fixture.feed({ range: HIGH })),
      ]
      expect([...ids(seen)].sort()).toEqual(KEYS.filter((pk) => pk !== 'p5').sort())
      expect(seen.find(({ id }) => id === 'p3')).toMatchObject({ n: 1 })
      expect(await fixture.count()).toBe(KEYS.length - 1)
    })

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

    test('ST-9 of many splits of one range at once, one is made', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      const outcomes = await Promise.allSettled(
        ['08', '10', '18', '20'].map((at) => database.splitRange({ collection, range: 0, at })),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await fixture.ranges()).toHaveLength(2)
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
    test('ST-9 a merge puts one range into the place of two neighbours', async () => {
      const fixture = await EngineFixture.make(await open(), 3)
      const [first, second, third] = evenRanges(3, DEFINITION.partitionKey)
      const at = second?.minInclusive ?? ''
      const merged = await fixture.merge(at)
      expect(merged).toMatchObject({ ...first, maxExclusive: second?.maxExclusive })
      expect(merged).toMatchObject({ number: 3, parents: [0, 1] })
      expect(await fixture.ranges()).toEqual([merged, expect.objectContaining({ ...third })])
      await fixture.split('01')
      const again = await fixture.merge('01')
      expect(again).toMatchObject({ number: 6, parents: [0, 1, 3, 4, 5] })
    })

    test('ST-9 ranges that are no neighbours are not merged', async () => {
      const fixture = await EngineFixture.make(await open(), 3)
      const { database, collection } = fixture
      const before = await fixture.ranges()
      for (const ranges of [
        [0, 2],
        [1, 1],
      ] as const) {
        await expect(database.mergeRanges({ collection, ranges })).rejects.toMatchObject({
          code: 'ERR_INVALID_OPTION',
        })
      }
      const gone = { code: 'ERR_RANGE_GONE' }
      await expect(database.mergeRanges({ collection, ranges: [0, 4711] })).rejects.toMatchObject(
        gone,
      )
      expect(await fixture.ranges()).toEqual(before)
    })

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

    test('ST-9 LSNs go on above both, and readers of one half keep their position', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      for (const pk of within(low)) for (let n = 0; n < 3; n++) await fixture.write(pk, pk)
      await writeAll(fixture, within(high).slice(0, 2))
      const newest = await Promise.all(
        [low, high].map(async (range) => (await fixture.start({ kind: 'now' }, { range })).lsn),
      )
      expect(newest[0]).toBeGreaterThan(newest[1] ?? Infinity)
      const before = await fixture.feed({ range: high })
      await fixture.merge(high.minInclusive)
      const top = Math.max(...newest)
      expect(await fixture.start({ kind: 'now' })).toMatchObject({ lsn: top })
      const [lowKey = ''] = within(low)
      const [, , highKey = ''] = within(high)
      expect(await fixture.write(lowKey, 'new-low')).toBeGreaterThan(top)
      expect(await fixture.write(highKey, 'new-high')).toBeGreaterThan(top)
      // The half that was behind reads on where it was: nothing of it lies between.
      expect(ids(await fixture.feed({ range: high, afterLsn: newest[1] ?? 0 }))).toEqual([
        'new-high',
      ])
      expect(ids(await fixture.feed({ range: low, afterLsn: newest[0] ?? 0 }))).toEqual(['new-low'])
      for (const { lsn: afterLsn } of before) {
        const wanted = before.filter((entry) => entry.lsn > afterLsn)
        expect(ids(await fixture.feed({ range: high, afterLsn, maxItems: 1 }))).toEqual([
          ...ids(wanted),
          'new-high',
        ])
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
    test('ST-9 ST-7 range numbers are never given out twice', async () => {
      const fixture = await EngineFixture.make(await open(), 2)
      const seen = new Set((await fixture.ranges()).map(({ number }) => number))
      const note = (numbers: readonly number[]): void => {
        for (const number of numbers) {
          expect(seen.has(number)).toBe(false)
          seen.add(number)
        }
      }
      const cuts = ['04', '08', '0C', '20', '28', '30']
      for (let round = 0; round < 5; round++) {
        for (const at of cuts) note((await fixture.split(at)).map(({ number }) => number))
        for (const at of cuts) note([(await fixture.merge(at)).number])
      }
      expect(await fixture.ranges()).toHaveLength(2)
    })

    test('ST-9 splits of splits and merges across them keep every document and every position', async () => {
      const fixture = await EngineFixture.make(await open())
      await writeAll(fixture)
      const early = (await fixture.start({ kind: 'now' })).lsn
      await fixture.split('20')
      await writeAll(fixture, KEYS.slice(0, 20))
      await fixture.split('10')
      await fixture.split('30')
      await writeAll(fixture, KEYS.slice(10, 15))
      // Children of two different parents.
      await fixture.merge('20')
      await writeAll(fixture, KEYS.slice(5, 12))
      const order: readonly string[] = [
        ...KEYS.slice(20),
        ...KEYS.slice(0, 5),
        ...KEYS.slice(15, 20),
        ...KEYS.slice(12, 15),
        ...KEYS.slice(5, 12),
      ]
      const middle = part('10', '30')
      expect((await fixture.ranges()).map(({ minInclusive }) => minInclusive)).toEqual([
        '',
        '10',
        '30',
      ])
      for (const range of [part('', '10'), part('10', '20'), part('20', '30'), part('30', 'FF')]) {
        const wanted = order.filter((pk) => within(range).includes(pk))
        expect(await fixture.feedIds(range, 2)).toEqual(wanted)
        const since = wanted.filter((pk) => KEYS.indexOf(pk) < 20)
        expect(ids(await fixture.feed({ range, afterLsn: early, maxItems: 1 }))).toEqual(since)
      }
      expect([...(await fixture.feedIds(middle))].sort()).toEqual([...within(middle)].sort())
      expect(await fixture.database.check()).toEqual([])
    })

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

    test('ST-9 writes, splits and merges between the pieces of a fold lose nothing', async () => {
      const fixture = await EngineFixture.make(await open())
      await writeAll(fixture)
      await fixture.split('20')
      const foldOnce = async (): Promise<void> => {
        const { tasks } = await fixture.database.readMaintenance()
        const task = tasks.find(({ kind }) => kind === 'fold')
        if (task !== undefined) await fixture.piece(task, 3)
      }
      const gone = new Set<string>()
      for (const [index, pk] of KEYS.entries()) {
        await foldOnce()
        if (index % 3 === 0) await fixture.write(pk, pk)
        if (index % 7 === 0) {
          await fixture.commit(fixture.batch(pk, [del(pk)]))
          gone.add(pk)
        }
        if (index === 10) await fixture.split('10')
        if (index === 15) await fixture.merge('20')
        if (index === 20) await fixture.split('18')
        if (index === 25) await fixture.merge('10')
      }
      await fixture.maintain('fold', 2)
      const seen: string[] = []
      for (const range of await fixture.ranges()) seen.push(...(await fixture.feedIds(range)))
      expect(seen.sort()).toEqual(KEYS.filter((pk) => !gone.has(pk)).sort())
      expect(await fixture.database.check()).toEqual([])
    })
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
