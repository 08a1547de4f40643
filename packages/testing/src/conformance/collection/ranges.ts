import { FULL_RANGE, feedRangeId, type FeedRange, type HeldPosition } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  allPages,
  changesOf,
  idsOf,
  liveIds,
  makeCollection,
  makeTimed,
  rejection,
  summary,
  type OpenStore,
  type TestCollection,
} from './fixtures.ts'

/** Splits and merges, and readers that live through them. */
export function collectionRanges(open: OpenStore): void {
  const fill = async (collection: TestCollection, count: number, from = 0): Promise<void> => {
    for (let n = from; n < from + count; n++) {
      await collection.create({ id: `d${n}`, pk: `p${n % 17}`, n })
    }
  }
  const idsOfRanges = async (collection: TestCollection): Promise<readonly string[]> =>
    (await collection.readPartitionKeyRanges()).ranges.map(({ id }) => id)
  const nowIn = async (collection: TestCollection, range: FeedRange): Promise<HeldPosition> => {
    const { continuation } = await collection.resolveStart({ range, start: 'now' })
    const page = await collection.readPage({ range, continuation })
    return { range, continuation: page.continuation }
  }

  describe('splits', () => {
    test('ST-9 a range is split in the middle of its documents; both are listed with their parent', async () => {
      const collection = await makeCollection(await open())
      await fill(collection, 60)
      const [parent] = (await collection.readPartitionKeyRanges()).ranges
      const children = await collection.split(parent?.id ?? '')
      const { ranges } = await collection.readPartitionKeyRanges()
      expect(ranges).toEqual(children)
      expect(ranges.map(({ parents, status }) => [parents, status])).toEqual([
        [[parent?.id], 'online'],
        [[parent?.id], 'online'],
      ])
      expect(ranges[0]?.minInclusive).toBe('')
      expect(ranges[0]?.maxExclusive).toBe(ranges[1]?.minInclusive)
      expect(ranges[1]?.maxExclusive).toBe('FF')
      for (const range of ranges) {
        const { documents } = await collection.readDocuments({ range })
        expect(documents.length).toBeGreaterThan(15)
      }
      expect(await collection.count()).toBe(60)
    })

    test('ST-9 a range without documents is split in the middle of its keys', async () => {
      const store = await open()
      const definitions = [
        '/pk',
        ['/a', '/b'],
        { paths: ['/pk'], version: 1, kind: 'Hash' },
      ] as const
      for (const [n, partitionKey] of definitions.entries()) {
        const collection = await makeCollection(store, { id: `empty${n}`, partitionKey })
        const [low] = await collection.split('0').catch(() => collection.split('1'))
        await collection.split(low.id)
        const { ranges } = await collection.readPartitionKeyRanges()
        expect(ranges).toHaveLength(3)
        const counts = await spreadOf(collection, ranges)
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(400)
        for (const count of counts) expect(count).toBeGreaterThan(40)
      }
    })

    test('ST-9 it can be split at a given key, inside of it only', async () => {
      const collection = await makeCollection(await open())
      const [id = ''] = await idsOfRanges(collection)
      for (const at of ['', 'FF', 'zz', '1', '2a', 'FFFF']) {
        expect(await rejection(collection.split(id, { at }))).toBe('ERR_INVALID_OPTION')
      }
      const [low, high] = await collection.split(id, { at: '10' })
      expect([low, high].map(feedRangeId)).toEqual(['-10', '10-FF'])
      expect(await rejection(collection.split(high.id, { at: '08' }))).toBe('ERR_INVALID_OPTION')
    })

    test('ST-9 a range that one key fills cannot be split', async () => {
      const collection = await makeCollection(await open())
      const [id = ''] = await idsOfRanges(collection)
      for (let n = 0; n < 5; n++) await collection.create({ id: `d${n}`, pk: 'only' })
      expect(await rejection(collection.split(id))).toBe('ERR_RANGE_INDIVISIBLE')
      const { encoder } = await collection.open()
      const { epk } = encoder.encodeKey('only')
      const [, rest] = await collection.split(id, { at: epk })
      const [one] = await collection.split(rest.id, { at: `${epk}00` })
      expect(await rejection(collection.split(one.id))).toBe('ERR_RANGE_INDIVISIBLE')
      for (let n = 0; n < 5; n++) await collection.delete(`d${n}`, 'only')
      expect(await rejection(collection.split(one.id))).toBe('ERR_RANGE_INDIVISIBLE')
    })

    test('ST-9 a range that is gone is so by name; one that never was is not found', async () => {
      const collection = await makeCollection(await open())
      await fill(collection, 40)
      const [id = ''] = await idsOfRanges(collection)
      const [low, high] = await collection.split(id)
      const [lower] = await collection.split(low.id)
      const gone = [
        () => collection.split(id),
        () => collection.split(low.id),
        () => collection.merge(low.id, high.id),
        () => collection.merge(high.id, low.id),
        () => collection.readPage({ range: FULL_RANGE, continuation: 'x' }),
      ] as const
      for (const call of gone.slice(0, 4)) {
        await expect(call()).rejects.toMatchObject({ code: 'ERR_RANGE_GONE' })
      }
      // Before the call: what it rejects with must not wait for somebody to look.
      const successors = (await collection.readPartitionKeyRanges()).ranges
        .slice(0, 2)
        .map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
      await expect(collection.split(low.id)).rejects.toMatchObject({ successors })
      const start = { range: FULL_RANGE, start: 'now' } as const
      const error = await collection.resolveStart(start).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'ERR_RANGE_GONE' })
      expect((error as { successors: readonly FeedRange[] }).successors).toHaveLength(3)
      for (const never of ['999', '', 'x', '-1', '0x1']) {
        expect(await rejection(collection.split(never))).toBe('ERR_NOT_FOUND')
      }
      expect(await rejection(collection.merge(lower.id, lower.id))).toBe('ERR_INVALID_OPTION')
    })

    test('ST-9 two who split one range at once: one does, the other is told', async () => {
      const collection = await makeCollection(await open())
      await fill(collection, 40)
      const [id = ''] = await idsOfRanges(collection)
      const codes = await Promise.all([1, 2, 3].map(() => rejection(collection.split(id))))
      expect(codes.toSorted()).toEqual(['ERR_RANGE_GONE', 'ERR_RANGE_GONE', 'none'])
      expect(await idsOfRanges(collection)).toHaveLength(2)
    })

    test('ST-9 ranges that grow above a size are split by maintenance, and not for expired documents', async () => {
      const { store, clock, collection } = await makeTimed(open, {
        defaultTtl: 60,
        splitAboveBytes: 2 ** 20,
      })
      const text = 'x'.repeat(10_000)
      const write = async (round: number): Promise<void> => {
        for (let n = 0; n < 150; n++)
          await collection.upsert({ id: `d${n}`, pk: `p${n}`, round, text })
      }
      const causes: string[] = []
      store.events.on('rangeSplit', ({ cause, children }) =>
        causes.push(`${cause} ${children.length}`),
      )
      await write(1)
      clock.step(60_000)
      expect(await store.runMaintenance()).toMatchObject({ swept: 150, rangesSplit: 0 })
      await write(2)
      expect(await store.runMaintenance()).toMatchObject({ rangesSplit: 1 })
      expect(await collection.readFeedRanges()).toHaveLength(2)
      expect(await store.runMaintenance()).toMatchObject({ rangesSplit: 0 })
      expect(causes).toEqual(['size 2'])
    })

    test('a range of one key that is too large is left as it is', async () => {
      const store = await open()
      const collection = await makeCollection(store, { splitAboveBytes: 2 ** 20 })
      const text = 'x'.repeat(300_000)
      for (let n = 0; n < 5; n++) await collection.create({ id: `d${n}`, pk: 'p', text })
      expect(await store.runMaintenance()).toMatchObject({ rangesSplit: 0 })
      expect(await collection.readFeedRanges()).toHaveLength(1)
    })
  })

  describe('merges', () => {
    test('ST-9 two neighbours become one, in whichever order they are named', async () => {
      const store = await open()
      const collection = await makeCollection(store, { partitionCount: 4 })
      await fill(collection, 40)
      const told: unknown[] = []
      store.events.on('rangesMerged', (event) => told.push(event))
      const [a = '', b = '', c = '', d = ''] = await idsOfRanges(collection)
      for (const [first, second] of [
        [a, c],
        [a, d],
        [a, a],
      ] as const) {
        expect(await rejection(collection.merge(first, second))).toBe('ERR_INVALID_OPTION')
      }
      const merged = await collection.merge(c, b)
      expect(merged.parents.toSorted()).toEqual([b, c].toSorted())
      expect(await idsOfRanges(collection)).toEqual([a, merged.id, d])
      expect(told).toMatchObject([{ collectionId: 'coll', range: { id: merged.id } }])
      expect(await collection.count()).toBe(40)
      expect((await changesOf(collection)).length).toBe(40)
      expect(await rejection(collection.split(b))).toBe('ERR_RANGE_GONE')
    })

    test('ST-9 LE-10 positions are joined when they stand at one LSN above the merge', async () => {
      const collection = await makeCollection(await open())
      await fill(collection, 30)
      const [id = ''] = await idsOfRanges(collection)
      const children = await collection.split(id)
      const [low, high] = children.map(({ minInclusive, maxExclusive }): FeedRange => {
        return { minInclusive, maxExclusive }
      })
      if (low === undefined || high === undefined) throw new Error('there are two')
      const before = [await nowIn(collection, low), await nowIn(collection, high)]
      // Not merged yet.
      expect(await collection.joinPositions({ positions: before })).toBeUndefined()
      await fill(collection, 10, 30)
      await collection.merge(children[0].id, children[1].id)
      // Of what was written before the merge, equal LSNs name different moments of each side.
      expect(await collection.joinPositions({ positions: before })).toBeUndefined()
      const page = async ({ range, continuation }: HeldPosition) => {
        const read = await collection.readPage({ range, continuation })
        // Without changes the next one comes to the newest LSN of the whole range.
        const rest = await collection.readPage({ range, continuation: read.continuation })
        return { changes: read.changes, held: { range, continuation: rest.continuation } }
      }
      const pages = [await page(before[0]!), await page(before[1]!)]
      expect(pages.flatMap(({ changes }) => idsOf(changes))).toHaveLength(10)
      const joined = await collection.joinPositions({ positions: pages.map(({ held }) => held) })
      expect(joined).toBeDefined()
      await fill(collection, 5, 40)
      const { continuation = '' } = joined ?? {}
      const rest = await collection.readPage({ range: FULL_RANGE, continuation })
      expect(rest.changes).toHaveLength(5)
      expect(await rejection(collection.joinPositions({ positions: before.slice(1) }))).toBe(
        'ERR_INVALID_OPTION',
      )
      expect(await rejection(collection.joinPositions({ positions: before.toReversed() }))).toBe(
        'ERR_INVALID_OPTION',
      )
    })
  })

  describe('readers over splits and merges', () => {
    test('CF-8 ST-9 a continuation of a parent is valid on every child', async () => {
      const collection = await makeCollection(await open())
      await fill(collection, 40)
      const { continuation } = await collection.resolveStart({
        range: FULL_RANGE,
        start: 'beginning',
      })
      const page = await collection.readPage({ range: FULL_RANGE, continuation, maxItemCount: 10 })
      const [id = ''] = await idsOfRanges(collection)
      await collection.split(id)
      await fill(collection, 10, 40)
      const seen = [...idsOf(page.changes)]
      for (const range of await collection.readFeedRanges()) {
        const rest = await collection.readPage({ range, continuation: page.continuation })
        seen.push(...idsOf(rest.changes))
      }
      expect(seen).toHaveLength(50)
      expect(new Set(seen).size).toBe(50)
    })

    /** What changes the ranges while somebody reads. */
    const disturb = async (store: Store, collection: TestCollection, step: number) => {
      const ids = await idsOfRanges(collection)
      const [first = '', second] = ids
      if (step % 3 === 2 && second !== undefined) await collection.merge(first, second)
      else await collection.split(ids[step % ids.length] ?? first).catch(() => undefined)
      if (step % 4 === 3) await store.runMaintenance()
    }

    for (const mode of ['latestVersion', 'allVersions'] as const) {
      test(`ST-9 CF-3 ${mode}: nothing is lost, twice or out of order while ranges come and go`, async () => {
        const store = await open()
        const collection = await makeCollection(store, {
          partitionCount: 2,
          allVersions: { retentionSeconds: 3600 },
        })
        const keys = 12
        const written = new Map<string, number>()
        const write = async (n: number): Promise<void> => {
          const pk = `p${n % keys}`
          await collection.create({ id: `d${n}`, pk, n })
          written.set(`d${n}`, n)
        }
        for (let n = 0; n < 40; n++) await write(n)
        const seen: number[] = []
        const lastOfKey = new Map<unknown, number>()
        let from: 'beginning' | { continuation: string } = 'beginning'
        let next = 40
        for (let step = 0; step < 14; step++) {
          const iteration = collection.changes({ mode, from, follow: false, maxItemCount: 5 })
          let pages = 0
          for await (const page of iteration) {
            for (const change of page.changes) {
              const document =
                change.kind === 'document'
                  ? change.document
                  : change.kind === 'version'
                    ? change.current
                    : undefined
              const n = Number(document?.['n'])
              expect(n).toBeGreaterThan(lastOfKey.get(change.partitionKey) ?? -1)
              lastOfKey.set(change.partitionKey, n)
              seen.push(n)
            }
            from = { continuation: page.continuation }
            pages += 1
            if (pages === 1) {
              await disturb(store, collection, step)
              await write(next++)
            }
          }
        }
        expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: next }, (_, n) => n))
        expect(await liveIds(collection)).toEqual([...written.keys()].toSorted())
        expect(await store.check()).toEqual([])
      })
    }

    test('CF-13 a follower goes on over a split and a merge', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const abort = new AbortController()
      const seen: string[] = []
      const reason = new Error('enough')
      const reader = (async () => {
        for await (const page of collection.changes({ from: 'beginning', signal: abort.signal })) {
          seen.push(...idsOf(page.changes))
          if (seen.length === 60) abort.abort(reason)
        }
      })()
      const outcome = expect(reader).rejects.toBe(reason)
      await fill(collection, 20)
      const [low, high] = await collection.split((await idsOfRanges(collection))[0] ?? '')
      await fill(collection, 20, 20)
      await collection.merge(low.id, high.id)
      await fill(collection, 20, 40)
      await outcome
      expect(new Set(seen).size).toBe(60)
    })

    test('TTL-13 ST-9 an expiry after a split comes after the last change, in the child', async () => {
      const { store, clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      await fill(collection, 20)
      const [id = ''] = await idsOfRanges(collection)
      const before = await allPages(collection.changes({ from: 'beginning', follow: false }))
      await collection.split(id)
      clock.step(5000)
      await store.runMaintenance()
      const from = { continuation: before.at(-1)?.continuation ?? '' }
      const ends = await changesOf(collection, { from })
      expect(summary(ends).toSorted()).toEqual(
        Array.from({ length: 20 }, (_, n) => `pendingDelete d${n}`).toSorted(),
      )
    })
  })
}

/** How many of 400 keys fall into each range. */
async function spreadOf(
  collection: TestCollection,
  ranges: readonly FeedRange[],
): Promise<readonly number[]> {
  const { encoder, record } = await collection.open()
  const depth = record.definition.partitionKey.paths.length
  const epks = Array.from({ length: 400 }, (_, n) => {
    const key = Array.from({ length: depth }, (__, part) => `k${n}-${part}`)
    return encoder.encodeKey(depth === 1 ? `k${n}` : key).epk
  })
  return ranges.map(
    ({ minInclusive, maxExclusive }) =>
      epks.filter((epk) => minInclusive <= epk && epk < maxExclusive).length,
  )
}
