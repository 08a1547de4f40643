import {
  FULL_RANGE,
  lsn,
  type Change,
  type FeedMode,
  type FeedRange,
  type Lsn,
} from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  idsOf,
  makeCollection,
  makeTimed,
  rejection,
  summary,
  type OpenStore,
  type TestCollection,
  type TestDocument,
} from './fixtures.ts'

const MODES: readonly FeedMode[] = ['latestVersion', 'allVersions']

/** Positions that are made from LSNs: what a mirror of positions keeps, and what operators name. */
export function collectionPositions(open: OpenStore): void {
  const makeLogged = (store: Store, partitionCount = 1): Promise<TestCollection> =>
    makeCollection(store, { partitionCount, allVersions: { retentionSeconds: 3600 } })

  /** Single writes and transactions of three, some of them over what was there; deletes too. */
  const write = async (collection: TestCollection, count: number, from = 0): Promise<void> => {
    for (let n = from; n < from + count; n++) {
      const pk = `p${n % 13}`
      if (n % 5 === 4) {
        await collection.batch(
          pk,
          [1, 2, 3].map((part) => upsertOf(n, part, pk)),
        )
        continue
      }
      await collection.upsert({ id: `d${n % 40}`, pk, n })
      if (n % 11 === 10) await collection.delete(`d${n % 40}`, pk)
    }
  }

  /** A whole feed of one range from a position on, in pages of three. */
  const restOf = async (
    collection: TestCollection,
    from: { readonly range: FeedRange; readonly continuation: string; readonly mode: FeedMode },
  ): Promise<readonly Change<TestDocument>[]> => {
    const changes: Change<TestDocument>[] = []
    let { continuation } = from
    for (;;) {
      const page = await collection.readPage({ ...from, continuation, maxItemCount: 3 })
      changes.push(...page.changes)
      if (page.caughtUp && page.changes.length === 0) return changes
      continuation = page.continuation
    }
  }
  const restAt = async (
    collection: TestCollection,
    at: { readonly range: FeedRange; readonly lsn: Lsn; readonly mode: FeedMode },
  ): Promise<readonly Change<TestDocument>[]> => {
    const { continuation, lsn: position } = await collection.positionAt(at)
    expect(position).toBe(at.lsn)
    return restOf(collection, { ...at, continuation })
  }
  const wholeFeed = async (
    collection: TestCollection,
    { range, mode }: { readonly range: FeedRange; readonly mode: FeedMode },
  ): Promise<readonly Change<TestDocument>[]> => {
    const start = 'beginning'
    const { continuation } = await collection.resolveStart({ range, start, mode })
    return restOf(collection, { range, mode, continuation })
  }
  /** From each LSN that occurs, and from before the first, comes exactly what is above it. */
  const expectExactRests = async (
    collection: TestCollection,
    at: { readonly range: FeedRange; readonly mode: FeedMode },
  ): Promise<void> => {
    const all = await wholeFeed(collection, at)
    expect(all.length).toBeGreaterThan(5)
    for (const position of new Set([lsn(0), ...all.map((change) => change.lsn)])) {
      const rest = await restAt(collection, { ...at, lsn: position })
      expect(rest).toEqual(all.filter((change) => change.lsn > position))
    }
  }
  const rangesOf = async (collection: TestCollection): Promise<readonly FeedRange[]> =>
    (await collection.readFeedRanges()).map(({ minInclusive, maxExclusive }) => {
      return { minInclusive, maxExclusive }
    })
  const idOf = async (collection: TestCollection, index: number): Promise<string> =>
    (await collection.readPartitionKeyRanges()).ranges[index]?.id ?? ''

  describe('positions from LSNs', () => {
    for (const mode of MODES) {
      test(`CF-7 CF-8 ${mode}: reading goes on right behind the LSN of any change`, async () => {
        const collection = await makeLogged(await open())
        await write(collection, 50)
        await expectExactRests(collection, { range: FULL_RANGE, mode })
      })

      test(`CF-8 ST-9 ${mode}: an LSN of before a split is one of every child, also after folding`, async () => {
        const store = await open()
        const collection = await makeLogged(store)
        await write(collection, 30)
        const before = await wholeFeed(collection, { range: FULL_RANGE, mode })
        const stored = before[Math.floor(before.length / 2)]?.lsn ?? lsn(0)
        await collection.split(await idOf(collection, 0))
        await write(collection, 20, 100)
        for (const isFolded of [false, true]) {
          if (isFolded) await store.runMaintenance()
          const seen: string[] = []
          for (const range of await rangesOf(collection)) {
            await expectExactRests(collection, { range, mode })
            const rest = await restAt(collection, { range, mode, lsn: stored })
            const all = await wholeFeed(collection, { range, mode })
            expect(rest).toEqual(all.filter((change) => change.lsn > stored))
            seen.push(...idsOf(rest))
          }
          expect(seen.length).toBeGreaterThan(20)
        }
      })

      test(`CF-8 ST-9 ${mode}: after a merge each part goes on by its own LSNs, and the whole by its own`, async () => {
        const store = await open()
        const collection = await makeLogged(store, 2)
        await write(collection, 40)
        const parts = await rangesOf(collection)
        await collection.merge(await idOf(collection, 0), await idOf(collection, 1))
        await write(collection, 20, 100)
        for (const isFolded of [false, true]) {
          if (isFolded) await store.runMaintenance()
          for (const range of [...parts, FULL_RANGE]) {
            await expectExactRests(collection, { range, mode })
          }
        }
      })
    }

    test('TTL-15 a purge above the LSN is never passed over in silence, one below it is nobody’s business', async () => {
      const setup = await makeTimed(open, { pendingDeletes: { retentionSeconds: 1 } })
      const { store, clock, collection } = setup
      const first = await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      await collection.create({ id: 'b', pk: 'p' })
      clock.step(5000)
      await store.runMaintenance()
      clock.step(3000)
      await store.runMaintenance()
      await collection.create({ id: 'c', pk: 'p' })
      const [horizon] = (await collection.readExpiry()).horizons
      expect(horizon?.lsn).toBeGreaterThan(first.lsn)
      const read = async (at: number, pendingDeletes = true) => {
        const { continuation } = await collection.positionAt({ range: FULL_RANGE, lsn: lsn(at) })
        return collection.readPage({ range: FULL_RANGE, continuation, pendingDeletes })
      }
      for (const early of [0, first.lsn, (horizon?.lsn ?? 0) - 1]) {
        expect(await rejection(read(early))).toBe('ERR_HORIZON_PASSED')
      }
      expect(summary((await read(first.lsn, false)).changes)).toEqual(['document b', 'document c'])
      expect(summary((await read(horizon?.lsn ?? 0)).changes)).toEqual(['document c'])
    })

    test('TTL-15 a position in the middle of a page knows of the purges that its reader knew of, and of no later one', async () => {
      const setup = await makeTimed(open, { pendingDeletes: { retentionSeconds: 1 } })
      const { store, clock, collection } = setup
      const purge = async (): Promise<void> => {
        clock.step(5000)
        await store.runMaintenance()
        clock.step(3000)
        await store.runMaintenance()
      }
      const first = await collection.create({ id: 'a', pk: 'p' })
      await collection.create({ id: 'b', pk: 'p', ttl: 5 })
      await purge()
      await collection.create({ id: 'c', pk: 'p' })
      const start = 'beginning'
      const from = await collection.resolveStart({ range: FULL_RANGE, start })
      const page = await collection.readPage({ range: FULL_RANGE, continuation: from.continuation })
      expect(summary(page.changes)).toEqual(['document a', 'document c'])
      const at = { range: FULL_RANGE, lsn: lsn(first.lsn) }
      const { continuation } = await collection.positionAt({ ...at, page: page.continuation })
      const read = () => collection.readPage({ range: FULL_RANGE, continuation })
      expect(summary((await read()).changes)).toEqual(['document c'])
      await collection.create({ id: 'd', pk: 'p', ttl: 5 })
      await purge()
      expect(await rejection(read())).toBe('ERR_HORIZON_PASSED')
      const other = { ...at, page: 'no continuation' }
      expect(await rejection(collection.positionAt(other))).toBe('ERR_INVALID_CONTINUATION')
    })

    test('TTL-15 ST-9 after a merge, a purge in one half concerns positions of that half only', async () => {
      const setup = await makeTimed(open, {
        partitionCount: 2,
        pendingDeletes: { retentionSeconds: 1 },
      })
      const { store, clock, collection } = setup
      for (let n = 0; n < 20; n++) await collection.create({ id: `d${n}`, pk: `p${n}` })
      const parts = await rangesOf(collection)
      const [low, high] = parts
      if (low === undefined || high === undefined) throw new Error('there are two')
      const [dying] = await wholeFeed(collection, { range: high, mode: 'latestVersion' })
      await collection.upsert({ id: dying?.id ?? '', pk: dying?.partitionKey, ttl: 5 })
      clock.step(5000)
      await store.runMaintenance()
      clock.step(3000)
      await store.runMaintenance()
      await collection.merge(await idOf(collection, 0), await idOf(collection, 1))
      const read = async (range: FeedRange) => {
        const { continuation } = await collection.positionAt({ range, lsn: lsn(1) })
        return collection.readPage({ range, continuation })
      }
      expect(await rejection(read(high))).toBe('ERR_HORIZON_PASSED')
      expect(await rejection(read(FULL_RANGE))).toBe('ERR_HORIZON_PASSED')
      expect((await read(low)).changes.length).toBeGreaterThan(2)
    })

    test('what is no LSN of the range is refused with a code', async () => {
      const collection = await makeCollection(await open())
      await write(collection, 10)
      const range = FULL_RANGE
      const start = 'now'
      const { lsn: newest } = await collection.resolveStart({ range, start })
      const codeAt = (at: unknown, mode?: FeedMode): Promise<string> =>
        rejection(collection.positionAt({ range, lsn: at as Lsn, mode }))
      for (const bad of [-1, 0.5, Number.NaN, 2 ** 53, '7', undefined]) {
        expect(await codeAt(bad)).toBe('ERR_INVALID_OPTION')
      }
      expect(await codeAt(newest)).toBe('none')
      expect(await codeAt(newest + 1)).toBe('ERR_INVALID_CONTINUATION')
      expect(await codeAt(newest, 'allVersions')).toBe('ERR_ALL_VERSIONS_OFF')
      await collection.split(await idOf(collection, 0))
      expect(await codeAt(newest)).toBe('ERR_RANGE_GONE')
    })
  })
}

function upsertOf(n: number, part: number, pk: string) {
  return { kind: 'upsert', document: { id: `t${n % 20}-${part}`, pk, n } } as const
}
