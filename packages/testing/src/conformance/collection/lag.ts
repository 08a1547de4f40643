import { FULL_RANGE, type FeedLagRequest, type FeedPosition } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import {
  START_SECOND,
  makeCollection,
  makeTimed,
  rejection,
  type OpenStore,
  type TestCollection,
} from './fixtures.ts'

/** How much a reader has before it. */
export function collectionLag(open: OpenStore): void {
  const range = FULL_RANGE
  const fill = async (collection: TestCollection, count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await collection.create({ id: `d${n}`, pk: `p${n % 7}`, n })
  }
  const fromBeginning = (collection: TestCollection): Promise<FeedPosition> =>
    collection.resolveStart({ range, start: 'beginning' })

  describe('lag', () => {
    test('PH-9 it is what the reader would get, and nothing once it got it', async () => {
      const collection = await makeCollection(await open())
      let { continuation } = await fromBeginning(collection)
      expect(await collection.measureLag({ range, continuation })).toEqual({
        newestLsn: 0,
        remainingChanges: 0,
        isExact: true,
        oldestChangeMs: undefined,
      })
      await fill(collection, 25)
      for (let left = 25; left > 0; left -= 5) {
        const lag = await collection.measureLag({ range, continuation })
        expect(lag).toMatchObject({ remainingChanges: left, isExact: true, newestLsn: 25 })
        const page = await collection.readPage({ range, continuation, maxItemCount: 5 })
        continuation = page.continuation
      }
      const done = { remainingChanges: 0, isExact: true, oldestChangeMs: undefined }
      expect(await collection.measureLag({ range, continuation })).toMatchObject(done)
      // A delete leaves nothing to read, although it has the newest LSN.
      await collection.delete('d0', 'p0')
      expect(await collection.measureLag({ range, continuation })).toMatchObject({
        ...done,
        newestLsn: 26,
      })
    })

    test('PH-9 it counts up to the limit, also where documents are large', async () => {
      const collection = await makeCollection(await open())
      const { continuation } = await fromBeginning(collection)
      const text = 'x'.repeat(700_000)
      for (let n = 0; n < 12; n++) await collection.create({ id: `d${n}`, pk: 'p', text })
      const lag = (limit?: number) => collection.measureLag({ range, continuation, limit })
      expect(await lag(4)).toMatchObject({ remainingChanges: 4, isExact: false, newestLsn: 12 })
      expect(await lag()).toMatchObject({ remainingChanges: 12, isExact: true, newestLsn: 12 })
      for (const bad of [0, -1, 1.5, 100_001, Number.NaN]) {
        expect(await rejection(lag(bad))).toBe('ERR_INVALID_OPTION')
      }
    })

    test('PH-9 TTL-13 pending deletes count for those who get them; the oldest change is known to its second', async () => {
      const { store, clock, collection } = await makeTimed(open)
      const { continuation } = await fromBeginning(collection)
      await collection.create({ id: 'dies', pk: 'p', ttl: 5 })
      clock.step(2000)
      await collection.create({ id: 'stays', pk: 'p' })
      const lag = (pendingDeletes?: boolean) =>
        collection.measureLag({ range, continuation, pendingDeletes })
      const second = (after: number): number => (START_SECOND + after) * 1000
      expect(await lag()).toMatchObject({ remainingChanges: 2, oldestChangeMs: second(0) })
      const seen = await collection.readPage({ range, continuation })
      clock.step(4000)
      await store.runMaintenance()
      expect(await lag()).toMatchObject({ remainingChanges: 2, oldestChangeMs: second(2) })
      expect(await lag(false)).toMatchObject({ remainingChanges: 1, oldestChangeMs: second(2) })
      // Of a pending delete: when it was written.
      expect(await collection.measureLag({ range, continuation: seen.continuation })).toMatchObject(
        { remainingChanges: 1, oldestChangeMs: second(6) },
      )
    })

    test('PH-9 ST-9 after a split each child has its part of it, from the parent’s continuation', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const { continuation } = await fromBeginning(collection)
      await fill(collection, 30)
      const { ranges } = await collection.readPartitionKeyRanges()
      await collection.split(ranges[0]?.id ?? '')
      await collection.create({ id: 'later', pk: 'p' })
      expect(await rejection(collection.measureLag({ range, continuation }))).toBe('ERR_RANGE_GONE')
      const children = await collection.readFeedRanges()
      const remaining = async (): Promise<readonly number[]> => {
        const lags = await Promise.all(
          children.map((child) => collection.measureLag({ range: child, continuation })),
        )
        for (const { isExact } of lags) expect(isExact).toBe(true)
        return lags.map(({ remainingChanges }) => remainingChanges)
      }
      const [low = 0, high = 0] = await remaining()
      expect(low + high).toBe(31)
      expect(Math.min(low, high)).toBeGreaterThan(5)
      await store.runMaintenance()
      expect(await remaining()).toEqual([low, high])
    })

    test('PH-9 CF-11 of the log of all versions every version counts', async () => {
      const collection = await makeCollection(await open(), {
        allVersions: { retentionSeconds: 3600 },
      })
      const mode = 'allVersions'
      const start = 'beginning'
      const { continuation } = await collection.resolveStart({ range, start, mode })
      for (let n = 0; n < 3; n++) await collection.upsert({ id: 'a', pk: 'p', n })
      await collection.delete('a', 'p')
      expect(await collection.measureLag({ range, continuation, mode })).toMatchObject({
        remainingChanges: 4,
        isExact: true,
        newestLsn: 4,
      })
    })

    test('PH-9 TTL-15 whoever came too late is told so, and what fits no reader is refused', async () => {
      const setup = await makeTimed(open, { pendingDeletes: { retentionSeconds: 1 } })
      const { store, clock, collection } = setup
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      const first = await fromBeginning(collection)
      const seen = await collection.readPage({ range, continuation: first.continuation })
      clock.step(5000)
      await store.runMaintenance()
      clock.step(3000)
      await store.runMaintenance()
      await collection.create({ id: 'b', pk: 'p' })
      const codeOf = (request: Partial<FeedLagRequest>): Promise<string> =>
        rejection(collection.measureLag({ range, continuation: seen.continuation, ...request }))
      expect(await codeOf({})).toBe('ERR_HORIZON_PASSED')
      expect(await codeOf({ pendingDeletes: false })).toBe('none')
      expect(await codeOf({ continuation: first.continuation })).toBe('none')
      expect(await codeOf({ continuation: 'x' })).toBe('ERR_INVALID_CONTINUATION')
      expect(await codeOf({ mode: 'allVersions' })).toBe('ERR_INVALID_CONTINUATION')
    })
  })
}
