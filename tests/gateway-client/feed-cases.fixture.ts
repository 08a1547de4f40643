import {
  FULL_RANGE,
  decodeContinuation,
  errorCode,
  feedRangeId,
  type Change,
  type ChangeFeedSource,
  type FeedMode,
  type FeedRange,
  type StartPosition,
} from '@tidemark/contracts'
import type { Collection, CollectionOptions, Store } from '@tidemark/store'
import type { StoreTime } from '@tidemark/testing/conformance'
import { describe, expect, test } from 'vitest'

export interface Item {
  readonly id: string
  readonly pk: string
  readonly n?: number
  readonly ttl?: number
}

/** A collection, and its feed by a way that is tested. The collection is `items` in `db`. */
export interface FeedUnderTest extends AsyncDisposable {
  readonly clock: StoreTime
  readonly store: Store
  readonly items: Collection<Item>
  readonly feed: ChangeFeedSource<Item>
  /** What failed by no fault of a client. */
  readonly failures: readonly unknown[]
}

/** At which `FeedUnderTest.clock` begins. */
export const START_MS = Date.now()

export async function startOf(
  feed: ChangeFeedSource<Item>,
  start: StartPosition,
  { range = FULL_RANGE, mode }: { range?: FeedRange; mode?: FeedMode } = {},
): Promise<string> {
  return (await feed.resolveStart({ range, start, mode })).continuation
}

/** Everything from a continuation on, until nothing is left, in pages of three. */
export async function rest(
  feed: ChangeFeedSource<Item>,
  from: { readonly continuation: string; readonly range?: FeedRange; readonly mode?: FeedMode },
): Promise<{ readonly changes: readonly Change<Item>[]; readonly continuation: string }> {
  const { range = FULL_RANGE, mode } = from
  const changes: Change<Item>[] = []
  for (let { continuation } = from; ;) {
    const page = await feed.readPage({ range, continuation, mode, maxItemCount: 3 })
    changes.push(...page.changes)
    continuation = page.continuation
    if (page.changes.length === 0 && page.caughtUp) return { changes, continuation }
  }
}

export const ids = (changes: readonly Change<Item>[]): readonly string[] =>
  changes.map(({ id }) => id)

/** What the feed of a container does over the wire, by whatever client. */
export function feedCases(
  name: string,
  open: (options?: Partial<CollectionOptions>) => Promise<FeedUnderTest>,
): void {
  describe(name, () => {
    test('CF-2 CF-7 has each document once, in LSN order, transactions whole', async () => {
      await using all = await open()
      const { items, feed } = all
      for (const id of ['a', 'b', 'a']) await items.upsert({ id, pk: 'p' })
      await items.batch(
        'q',
        ['c', 'd', 'e', 'f'].map((id) => ({ kind: 'create', document: { id, pk: 'q' } })),
      )
      const continuation = await startOf(feed, 'beginning')
      const first = await feed.readPage({ range: FULL_RANGE, continuation, maxItemCount: 3 })
      expect(ids(first.changes)).toEqual(['b', 'a', 'c', 'd', 'e', 'f'])
      const [b] = first.changes
      const { document } = await items.read('b', 'p')
      expect(b).toEqual({
        kind: 'document',
        id: 'b',
        partitionKey: 'p',
        lsn: 2,
        committedAtMs: (document?._ts ?? 0) * 1000,
        document,
      })
      expect((await rest(feed, first)).changes).toEqual([])
      expect(all.failures).toEqual([])
    })

    test('CF-6 begins at the beginning, now, a time and a continuation', async () => {
      await using all = await open()
      const { items, feed, clock } = all
      const now = await startOf(feed, 'now')
      await items.create({ id: 'old', pk: 'p' })
      clock.advance(10_000)
      await items.create({ id: 'young', pk: 'p' })
      const at = (timeMs: number): Promise<string> => startOf(feed, new Date(timeMs))
      const seconds = Math.floor((START_MS + 10_000) / 1000) * 1000
      expect(ids((await rest(feed, { continuation: now })).changes)).toEqual(['old', 'young'])
      // The second of the start is in it.
      const fromTime = await rest(feed, { continuation: await at(seconds + 900) })
      expect(ids(fromTime.changes)).toEqual(['young'])
      expect((await rest(feed, { continuation: await at(seconds + 1000) })).changes).toEqual([])
      expect((await rest(feed, { continuation: await at(seconds * 2) })).changes).toEqual([])
      await items.create({ id: 'new', pk: 'p' })
      const again = await startOf(feed, fromTime)
      expect(ids((await rest(feed, { continuation: again })).changes)).toEqual(['new'])
    })

    test('LE-17 says the `_rid` of the collection, as its continuations do', async () => {
      await using all = await open()
      const { feed, items } = all
      const rid = await feed.readRid?.()
      expect(rid).toBe(await items.readRid())
      expect(decodeContinuation(await startOf(feed, 'now')).collectionRid).toBe(rid)
    })

    test('CF-8 a continuation is that of the store: each of both goes on where the other was', async () => {
      await using all = await open()
      const { items, feed } = all
      for (let n = 0; n < 8; n++) await items.create({ id: `d${n}`, pk: 'p' })
      const local = await startOf(items, 'beginning')
      const half = await feed.readPage({ range: FULL_RANGE, continuation: local, maxItemCount: 4 })
      const after = await items.readPage({ range: FULL_RANGE, continuation: half.continuation })
      expect(ids([...half.changes, ...after.changes])).toEqual(
        [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `d${n}`),
      )
      const broken = feed.readPage({ range: FULL_RANGE, continuation: `${half.continuation}x` })
      await expect(broken).rejects.toMatchObject({ code: 'ERR_INVALID_CONTINUATION' })
    })

    test('ST-9 CF-8 after a split the successors are named, and go on with the parent’s continuation', async () => {
      await using all = await open()
      const { items, feed } = all
      for (let n = 0; n < 20; n++) await items.create({ id: `d${n}`, pk: `p${n}` })
      const continuation = await startOf(feed, 'beginning')
      const page = await feed.readPage({ range: FULL_RANGE, continuation, maxItemCount: 5 })
      const children = await items.split('0')
      const gone = await feed
        .readPage({ range: FULL_RANGE, ...pick(page) })
        .catch((error: unknown) => error)
      expect(errorCode(gone)).toBe('ERR_RANGE_GONE')
      const { successors } = gone as { successors: readonly FeedRange[] }
      expect(successors.map(feedRangeId)).toEqual(children.map(feedRangeId))
      const seen = [...ids(page.changes)]
      for (const range of successors) {
        seen.push(...ids((await rest(feed, { ...pick(page), range })).changes))
      }
      expect(seen.toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `d${n}`).toSorted())
      expect((await feed.readFeedRanges()).map(({ id }) => id)).toEqual(
        children.map(({ id }) => id),
      )
    })

    test('ST-9 a part of a pkrange is read by itself, also after that was split elsewhere', async () => {
      await using all = await open({ partitionCount: 2 })
      const { items, feed } = all
      const [low, high] = await feed.readFeedRanges()
      await items.merge(low?.id ?? '', high?.id ?? '')
      for (let n = 0; n < 20; n++) await items.create({ id: `d${n}`, pk: `p${n}` })
      const parts = [low, high].map((range) => range ?? FULL_RANGE)
      const read = async (range: FeedRange): Promise<readonly string[]> => {
        const continuation = await startOf(feed, 'beginning', { range })
        return ids((await rest(feed, { continuation, range })).changes)
      }
      const before = [await read(parts[0]!), await read(parts[1]!)]
      expect(before[0]!.length * before[1]!.length).toBeGreaterThan(0)
      expect(new Set(before.flat()).size).toBe(20)
      const [merged] = await items.readFeedRanges()
      await items.split(merged?.id ?? '', { at: parts[1]?.minInclusive })
      expect([await read(parts[0]!), await read(parts[1]!)]).toEqual(before)
    })

    test('TTL-12 a document that will expire says when', async () => {
      await using all = await open({ defaultTtl: 100 })
      const { items, feed } = all
      const { document } = await items.create({ id: 'a', pk: 'p', ttl: 7 })
      await items.create({ id: 'b', pk: 'p' })
      await items.create({ id: 'c', pk: 'p', ttl: -1 })
      const { changes } = await rest(feed, {
        continuation: await startOf(feed, 'beginning'),
      })
      const expected = [document._ts + 7, document._ts + 100, undefined]
      expect(changes.map((change) => change.kind === 'document' && change.expiresAtMs)).toEqual(
        expected.map((second) => second && second * 1000),
      )
    })

    test('CF-11 all versions: each of them, and the deleted one’s id and key', async () => {
      await using all = await open({
        allVersions: { retentionSeconds: 3600, previousImages: true },
      })
      const { items, feed } = all
      const mode = 'allVersions'
      const continuation = await startOf(feed, 'now', { mode })
      await items.create({ id: 'a', pk: 'p', n: 1 })
      await items.upsert({ id: 'a', pk: 'p', n: 2 })
      await items.delete('a', 'p')
      const { changes } = await rest(feed, { continuation, mode })
      expect(changes).toMatchObject([
        { kind: 'version', id: 'a', partitionKey: 'p', operationType: 'create', current: { n: 1 } },
        {
          kind: 'version',
          id: 'a',
          partitionKey: 'p',
          operationType: 'replace',
          current: { n: 2 },
        },
        {
          kind: 'version',
          id: 'a',
          partitionKey: 'p',
          operationType: 'delete',
          previous: { n: 2 },
        },
      ])
      expect(changes[2]).not.toHaveProperty('current')
    })

    test('of a container made anew under the name nothing is read', async () => {
      await using all = await open()
      const { items, feed, store } = all
      await items.create({ id: 'a', pk: 'p' })
      const continuation = await startOf(feed, 'beginning')
      await store.database('db').deleteCollection('items')
      await store.database('db').createCollection({ id: 'items', partitionKey: '/pk' })
      const page = feed.readPage({ range: FULL_RANGE, continuation })
      await expect(page).rejects.toMatchObject({ code: 'ERR_NOT_FOUND', resource: 'collection' })
    })
  })
}

function pick({ continuation }: { readonly continuation: string }): {
  readonly continuation: string
} {
  return { continuation }
}
