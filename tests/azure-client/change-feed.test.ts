import {
  FULL_RANGE,
  feedRangeId,
  lsn,
  type FeedRange,
  type StartPosition,
} from '@tidemark/contracts'
import { cosmosFeed } from '@tidemark/cosmos'
import type { CollectionOptions } from '@tidemark/store'
import { StoreTime } from '@tidemark/testing/conformance'
import { describe, expect, test } from 'vitest'
import {
  START_MS,
  feedCases,
  ids,
  rest,
  startOf,
  type FeedUnderTest,
  type Item,
} from '../gateway-client/feed-cases.fixture.ts'
import { accountUnderTest, type AccountUnderTest } from './account-under-test.fixture.ts'
import { isFeedRead } from './plain-account.fixture.ts'

async function open(
  options: Partial<CollectionOptions> = {},
): Promise<FeedUnderTest & { readonly under: AccountUnderTest }> {
  const clock = new StoreTime(START_MS)
  const under = await accountUnderTest({ clock, maintenance: 'manual' })
  const { store, failures } = under
  const items = await store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', ...options })
  const feed = cosmosFeed<Item>(under.container('items'))
  const end = async (): Promise<void> => under[Symbol.asyncDispose]()
  return { clock, under, store, failures, items, feed, [Symbol.asyncDispose]: end }
}

feedCases('the feed of a container by its official client', open)

describe('the feed of a container', () => {
  test('LE-15 joins positions that are all at one LSN, of one pkrange', async () => {
    await using all = await open()
    const { items, feed } = all
    const seen: boolean[] = []
    await items.split('0')
    await items.create({ id: 'a', pk: 'p' })
    const [low, high] = await feed.readFeedRanges()
    const positionsOf = async (
      range: FeedRange | undefined,
      count: number,
      start: StartPosition,
    ) => {
      const parts = await feed.divideRange!({ range: range ?? FULL_RANGE, count })
      return Promise.all(
        parts.map(async (part) => {
          return { range: part, continuation: await startOf(feed, start, { range: part }) }
        }),
      )
    }
    const join = (positions: Awaited<ReturnType<typeof positionsOf>>) =>
      feed.joinPositions!({ positions })
    for (const range of [low, high]) {
      const begun = await positionsOf(range, 3, 'beginning')
      expect((await join(begun))?.lsn).toBe(0)
      const now = await positionsOf(range, 3, 'now')
      const isBehind = now.some(({ continuation }, n) => continuation !== begun[n]?.continuation)
      if (isBehind) expect(await join([...now.slice(0, 2), ...begun.slice(2)])).toBeUndefined()
      if (isBehind) expect(await join([...begun.slice(0, 1), ...now.slice(1)])).toBeUndefined()
      seen.push(isBehind)
    }
    // The change is in one of the two.
    expect(seen.filter(Boolean)).toHaveLength(1)
    const ends = [
      ...(await positionsOf(low, 2, 'beginning')).slice(1),
      ...(await positionsOf(high, 2, 'beginning')).slice(0, 1),
    ]
    expect(await join(ends)).toBeUndefined()
  })

  test('has nothing of our gateway, so that nobody relies on it', async () => {
    await using all = await open()
    const { feed } = all
    const supports = { waiting: false, childrenCarryParentChanges: true, allVersions: true }
    expect(feed.supports).toEqual(supports)
    for (const name of ['positions', 'waitForChanges', 'measureLag']) {
      expect(name in feed).toBe(false)
    }
  })

  test('an LSN is a position, as an etag is one', async () => {
    await using all = await open()
    const { items, feed } = all
    for (let n = 0; n < 4; n++) await items.create({ id: `d${n}`, pk: 'p' })
    const { continuation } = (await feed.positionAt?.({ range: FULL_RANGE, lsn: lsn(2) })) ?? {}
    const page = await feed.readPage({ range: FULL_RANGE, continuation: continuation ?? '' })
    expect(page.changes.map((change) => change.lsn)).toEqual([3, 4])
  })

  test('an answer of a replica that is behind takes no reader back', async () => {
    await using all = await open()
    const { items, feed, under } = all
    for (let n = 0; n < 4; n++) await items.create({ id: `d${n}`, pk: 'p' })
    const continuation = await startOf(feed, 'now')
    under.account.failNext(1, isFeedRead, { headers: { etag: '"2"' } })
    const behind = await feed.readPage({ range: FULL_RANGE, continuation })
    expect(under.account.faults).toBe(1)
    expect(behind).toMatchObject({ changes: [], continuation, lsn: 4 })
    await items.create({ id: 'd4', pk: 'p' })
    const { changes } = await feed.readPage({ range: FULL_RANGE, ...pick(behind) })
    expect(ids(changes)).toEqual(['d4'])
  })

  test('a reader whose place is that of the iterator asks once for a page', async () => {
    await using all = await open()
    const { items, feed, under } = all
    for (let n = 0; n < 9; n++) await items.create({ id: `d${n}`, pk: 'p' })
    const continuation = await startOf(feed, 'beginning')
    const first = await feed.readPage({ range: FULL_RANGE, continuation, maxItemCount: 3 })
    const before = under.account.asked.length
    let page = first
    for (let n = 0; n < 3; n++) {
      page = await feed.readPage({ range: FULL_RANGE, ...pick(page), maxItemCount: 3 })
    }
    expect(ids(page.changes)).toEqual([])
    const asked = under.account.asked.slice(before)
    expect(asked.map(isFeedRead)).toEqual([true, true, true])
    // Somewhere else it is another iterator, from the right place.
    const again = await feed.readPage({ range: FULL_RANGE, ...pick(first), maxItemCount: 3 })
    expect(ids(again.changes)).toEqual(['d3', 'd4', 'd5'])
    // And for pages of another size.
    const two = await feed.readPage({ range: FULL_RANGE, ...pick(again), maxItemCount: 2 })
    expect(ids(two.changes)).toEqual(['d6', 'd7'])
  })

  test('a container that was made anew under its name is not read on, by no iterator', async () => {
    await using all = await open()
    const { items, feed, store } = all
    const write = async (collection: typeof items) => {
      for (let n = 0; n < 6; n++) await collection.create({ id: `d${n}`, pk: 'p' })
    }
    await write(items)
    const continuation = await startOf(feed, 'beginning')
    const page = await feed.readPage({ range: FULL_RANGE, continuation, maxItemCount: 3 })
    const database = store.database('db')
    await database.deleteCollection('items')
    await write(
      await database.createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk' }),
    )
    const gone = { code: 'ERR_NOT_FOUND', resource: 'collection' }
    for (const place of [page, page, { continuation }]) {
      const read = feed.readPage({ range: FULL_RANGE, ...pick(place), maxItemCount: 3 })
      await expect(read).rejects.toMatchObject(gone)
    }
    await expect(startOf(feed, 'now')).rejects.toMatchObject(gone)
  })

  test('ST-9 a split under an iterator: nothing of a child is taken for its parent’s, LSNs go on above', async () => {
    await using all = await open()
    const { items, feed } = all
    for (let n = 0; n < 12; n++) await items.create({ id: `d${n}`, pk: `p${n}`, n: 0 })
    const continuation = await startOf(feed, 'beginning')
    const page = await feed.readPage({ range: FULL_RANGE, continuation, maxItemCount: 12 })
    expect(page.changes).toHaveLength(12)
    // The iterator stands there now. The client would go on in the children by itself.
    const children = await items.split('0')
    for (let n = 0; n < 12; n++) await items.upsert({ id: `d${n}`, pk: `p${n}`, n: 1 })
    const gone: unknown = await feed
      .readPage({ range: FULL_RANGE, ...pick(page) })
      .catch((error: unknown) => error)
    expect(gone).toMatchObject({ code: 'ERR_RANGE_GONE' })
    const { successors } = gone as { readonly successors: readonly FeedRange[] }
    expect(successors.map(feedRangeId)).toEqual(children.map(feedRangeId))
    const seen: string[] = []
    for (const range of successors) {
      const { changes } = await rest(feed, { range, ...pick(page) })
      seen.push(...ids(changes))
      for (const change of changes) {
        expect(change).toMatchObject({ kind: 'document', document: { n: 1 } })
        // A key's versions are in the order of their LSNs, across the split.
        expect(change.lsn).toBeGreaterThan(page.lsn)
      }
    }
    expect(seen.toSorted()).toEqual(ids(page.changes).toSorted())
  })

  test('ST-9 a merge under an iterator that another reader has seen: it reads its own keys, no others', async () => {
    await using all = await open({ partitionCount: 2 })
    const { items, feed, under } = all
    const [low, high] = await feed.readFeedRanges()
    const places = []
    for (const range of [low!, high!]) {
      const page = await feed.readPage({
        range,
        continuation: await startOf(feed, 'now', { range }),
      })
      places.push({ range, ...pick(page) })
    }
    await items.merge(low!.id!, high!.id!)
    for (let n = 0; n < 20; n++) await items.upsert({ id: `d${n}`, pk: `p${n}` })
    const seen = []
    // Reading the first part makes the client list its pkranges anew.
    for (const place of places) seen.push(ids((await rest(feed, place)).changes))
    expect(seen[0]!.length * seen[1]!.length).toBeGreaterThan(0)
    expect(seen.flat().toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `d${n}`).toSorted())
    expect(under.failures).toEqual([])
  })
})

function pick({ continuation }: { readonly continuation: string }): {
  readonly continuation: string
} {
  return { continuation }
}
