import { FULL_RANGE, type FeedPosition, type StartPosition } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import type { SteppedClock } from '../../stepped-clock.ts'
import {
  allPages,
  changesOf,
  continuationNow,
  liveIds,
  makeTimed,
  rejection,
  summary,
  thrown,
  type OpenStore,
  type TestCollection,
} from './fixtures.ts'

/** Readers that come too late for what was purged. */
export function collectionHorizons(open: OpenStore): void {
  const makePurging = (options: Parameters<typeof makeTimed>[1] = {}) =>
    makeTimed(open, { pendingDeletes: { retentionSeconds: 1 }, ...options })
  /** Everything with a `ttl` of 5 dies, and is purged. */
  const purgeAll = async ({
    store,
    clock,
  }: {
    readonly store: { runMaintenance(): Promise<unknown> }
    readonly clock: SteppedClock
  }): Promise<void> => {
    clock.step(5000)
    await store.runMaintenance()
    clock.step(3000)
    await store.runMaintenance()
  }
  const start = (collection: TestCollection, position: StartPosition): Promise<FeedPosition> =>
    collection.resolveStart({ range: FULL_RANGE, start: position })

  describe('horizons', () => {
    test('TTL-15 a reader that is too late is told exactly where it stands, not what is left', async () => {
      const setup = await makePurging()
      const { collection } = setup
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      const first = await start(collection, 'beginning')
      const read = ({ continuation }: FeedPosition, pendingDeletes = true) =>
        collection.readPage({ range: FULL_RANGE, continuation, pendingDeletes })
      const seen = await read(first)
      await purgeAll(setup)
      await collection.create({ id: 'b', pk: 'p' })
      const [horizon] = (await collection.readExpiry()).horizons
      await expect(read(seen)).rejects.toMatchObject({
        code: 'ERR_HORIZON_PASSED',
        range: FULL_RANGE,
        lsn: seen.lsn,
        horizon: horizon?.lsn,
      })
      // Only those who asked for pending deletes can have missed one.
      expect(summary((await read(seen, false)).changes)).toEqual(['document b'])
      const { continuation } = seen
      const text = await collection.readPageText({ range: FULL_RANGE, continuation })
      expect(text.bodies).toHaveLength(1)
      // To whom nothing was delivered yet, nothing was lost.
      expect(summary((await read(first)).changes)).toEqual(['document b'])
    })

    test('TTL-15 starts from the beginning, from now and from a time never fail', async () => {
      const setup = await makePurging()
      const { collection, clock } = setup
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      await purgeAll(setup)
      await collection.create({ id: 'b', pk: 'p' })
      const starts: readonly (readonly [StartPosition, readonly string[]])[] = [
        ['beginning', ['document b']],
        [new Date(0), ['document b']],
        ['now', []],
        [new Date(clock.wallMs() + 5000), []],
      ]
      for (const [position, expected] of starts) {
        const { continuation } = await start(collection, position)
        const page = await collection.readPage({ range: FULL_RANGE, continuation })
        expect(summary(page.changes)).toEqual(expected)
      }
    })

    test('TTL-15 a reader from now on is late as any other when it does not read', async () => {
      const setup = await makePurging()
      const { collection } = setup
      await collection.create({ id: 'before', pk: 'p', ttl: 5 })
      const { continuation } = await start(collection, 'now')
      await purgeAll(setup)
      expect(await rejection(collection.readPage({ range: FULL_RANGE, continuation }))).toBe(
        'ERR_HORIZON_PASSED',
      )
    })

    test('TTL-15 what was purged behind a reader, or before it came, concerns it not', async () => {
      const setup = await makePurging()
      const { collection } = setup
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      await purgeAll(setup)
      for (let n = 0; n < 4; n++) await collection.create({ id: `d${n}`, pk: 'p' })
      const pages = await allPages(
        collection.changes({ from: 'beginning', follow: false, maxItemCount: 1 }),
      )
      expect(pages.map(({ changes }) => summary(changes))).toEqual(
        [0, 1, 2, 3].map((n) => [`document d${n}`]),
      )
      const continuation = pages.at(-1)?.continuation ?? ''
      expect(await changesOf(collection, { from: { continuation } })).toEqual([])
    })

    test('TTL-15 one range that was purged does not fail the readers of another', async () => {
      const setup = await makePurging({ partitionCount: 2 })
      const { collection } = setup
      const { encoder } = await collection.open()
      const [low, high] = await collection.readFeedRanges()
      if (low === undefined || high === undefined) throw new Error('there are two')
      const keyIn = (range: typeof low): string => {
        const keys = Array.from({ length: 100 }, (_, n) => `p${n}`)
        const holds = (key: string) => {
          const { epk } = encoder.encodeKey(key)
          return range.minInclusive <= epk && epk < range.maxExclusive
        }
        return keys.find(holds) ?? ''
      }
      await collection.create({ id: 'a', pk: keyIn(low), ttl: 5 })
      await collection.create({ id: 'b', pk: keyIn(high) })
      const continuation = await continuationNow(collection)
      await purgeAll(setup)
      await collection.create({ id: 'c', pk: keyIn(high) })
      const from = { continuation }
      expect(await rejection(changesOf(collection, { from }))).toBe('ERR_HORIZON_PASSED')
      expect(await rejection(changesOf(collection, { from, range: low }))).toBe(
        'ERR_HORIZON_PASSED',
      )
      expect(summary(await changesOf(collection, { from, range: high }))).toEqual(['document c'])
      expect(await changesOf(collection, { from, pendingDeletes: false })).toHaveLength(1)
    })

    test('TTL-15 with resync the range begins anew, says so, and brings a copy to the right state', async () => {
      const setup = await makePurging({ partitionCount: 3 })
      const { collection } = setup
      const copy = new Map<string, string>()
      let from: 'beginning' | { continuation: string } = 'beginning'
      let resyncs = 0
      /** A view as users write one. */
      const follow = async (): Promise<void> => {
        const { encoder } = await collection.open()
        const pages = collection.changes({
          from,
          follow: false,
          maxItemCount: 3,
          onHorizonPassed: 'resync',
        })
        for await (const page of pages) {
          const { resynchronized } = page
          if (resynchronized !== undefined) {
            resyncs++
            expect(resynchronized.range).toEqual(page.range)
            expect(resynchronized.horizon).toBeGreaterThan(resynchronized.lsn)
            expect(resynchronized.untilLsn).toBeGreaterThanOrEqual(resynchronized.horizon)
            for (const [id, pk] of copy) {
              const { epk } = encoder.encodeKey(pk)
              const { minInclusive, maxExclusive } = resynchronized.range
              if (minInclusive <= epk && epk < maxExclusive) copy.delete(id)
            }
          }
          for (const change of page.changes) {
            if (change.kind === 'document') copy.set(change.id, String(change.partitionKey))
            else copy.delete(change.id)
          }
          from = { continuation: page.continuation }
        }
      }
      for (let n = 0; n < 30; n++) {
        await collection.create({ id: `d${n}`, pk: `p${n}`, ttl: n % 3 === 0 ? 5 : -1 })
      }
      await follow()
      expect([...copy.keys()].toSorted()).toEqual(await liveIds(collection))
      expect(resyncs).toBe(0)
      await purgeAll(setup)
      for (let n = 30; n < 40; n++) await collection.create({ id: `d${n}`, pk: `p${n}` })
      await follow()
      expect([...copy.keys()].toSorted()).toEqual(await liveIds(collection))
      expect(resyncs).toBe(3)
      await follow()
      expect(resyncs).toBe(3)
    })

    test('TTL-15 resync says so also when the range has nothing left', async () => {
      const setup = await makePurging()
      const { collection } = setup
      const { lsn } = await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      const continuation = await continuationNow(collection)
      await purgeAll(setup)
      const pages = await allPages(
        collection.changes({ from: { continuation }, follow: false, onHorizonPassed: 'resync' }),
      )
      expect(pages[0]).toMatchObject({ changes: [], resynchronized: { range: FULL_RANGE, lsn } })
      expect(pages.slice(1).some((page) => 'resynchronized' in page)).toBe(false)
      expect(thrown(() => collection.changes({ onHorizonPassed: 'ignore' as 'fail' }))).toBe(
        'ERR_INVALID_OPTION',
      )
    })
  })
}
