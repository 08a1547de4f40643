import {
  FULL_RANGE,
  errorCode,
  feedRangeId,
  lsn,
  type Change,
  type ChangeFeedSource,
  type FeedMode,
  type FeedRange,
  type StartPosition,
} from '@tidemark/contracts'
import { openChangeFeed, type CosmosConnectionOptions } from '@tidemark/gateway/client'
import type { Collection, CollectionOptions } from '@tidemark/store'
import { StoreTime } from '@tidemark/testing/conformance'
import { describe, expect, test } from 'vitest'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'
import { plainServerFetch } from './plain-server.fixture.ts'

interface Item {
  readonly id: string
  readonly pk: string
  readonly n?: number
  readonly ttl?: number
}

const NAME = { database: 'db', container: 'items' }
const START_MS = Date.now()

async function setUp(
  connection: Partial<CosmosConnectionOptions>,
  options: Partial<CollectionOptions> = {},
) {
  const clock = new StoreTime(START_MS)
  const under = await gatewayUnderTest({ clock, maintenance: 'manual' })
  const items: Collection<Item> = await under.store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', ...options })
  const feed = await openChangeFeed<Item>(under.connect(connection), NAME)
  return {
    clock,
    under,
    items,
    feed,
    [Symbol.asyncDispose]: async () => under[Symbol.asyncDispose](),
  }
}

async function startOf(
  feed: ChangeFeedSource<Item>,
  start: StartPosition,
  { range = FULL_RANGE, mode }: { range?: FeedRange; mode?: FeedMode } = {},
): Promise<string> {
  return (await feed.resolveStart({ range, start, mode })).continuation
}

/** Everything from a continuation on, until nothing is left, in pages of three. */
async function rest(
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

const ids = (changes: readonly Change<Item>[]): readonly string[] => changes.map(({ id }) => id)

describe.each([
  ['our gateway', {}],
  ['a plain server', { fetch: plainServerFetch() }],
] as const)('the feed of %s', (_name, connection) => {
  test('CF-2 CF-7 has each document once, in LSN order, transactions whole', async () => {
    await using all = await setUp(connection)
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
    expect(all.under.failures).toEqual([])
  })

  test('CF-6 begins at the beginning, now, a time and a continuation', async () => {
    await using all = await setUp(connection)
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

  test('CF-8 a continuation is that of the store: each of both goes on where the other was', async () => {
    await using all = await setUp(connection)
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
    await using all = await setUp(connection)
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
    expect((await feed.readFeedRanges()).map(({ id }) => id)).toEqual(children.map(({ id }) => id))
  })

  test('ST-9 a part of a pkrange is read by itself, also after that was split elsewhere', async () => {
    await using all = await setUp(connection, { partitionCount: 2 })
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
    await using all = await setUp(connection, { defaultTtl: 100 })
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
    await using all = await setUp(connection, {
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
      { kind: 'version', id: 'a', partitionKey: 'p', operationType: 'replace', current: { n: 2 } },
      { kind: 'version', id: 'a', partitionKey: 'p', operationType: 'delete', previous: { n: 2 } },
    ])
    expect(changes[2]).not.toHaveProperty('current')
  })

  test('CF-15 a page is of the state that a session token names, or there is none', async () => {
    await using all = await setUp(connection)
    const { items, under } = all
    await items.create({ id: 'a', pk: 'p' })
    const open = (sessionToken: string) =>
      openChangeFeed<Item>(under.connect({ ...connection, maxRetryMs: 1 }), {
        ...NAME,
        sessionToken,
      })
    const met = await open('0:-1#1')
    const continuation = await startOf(met, 'beginning')
    expect(ids((await rest(met, { continuation })).changes)).toEqual(['a'])
    const ahead = await open('0:-1#999')
    const page = ahead.readPage({ range: FULL_RANGE, continuation })
    await expect(page).rejects.toMatchObject({ code: 'ERR_SESSION_AHEAD' })
  })

  test('of a container made anew under the name nothing is read', async () => {
    await using all = await setUp(connection)
    const { items, feed, under } = all
    await items.create({ id: 'a', pk: 'p' })
    const continuation = await startOf(feed, 'beginning')
    await under.store.database('db').deleteCollection('items')
    await under.store.database('db').createCollection({ id: 'items', partitionKey: '/pk' })
    const page = feed.readPage({ range: FULL_RANGE, continuation })
    await expect(page).rejects.toMatchObject({ code: 'ERR_NOT_FOUND', resource: 'collection' })
  })
})

describe('what only our gateway has', () => {
  test('TTL-13 pending deletes, unless they are not wanted', async () => {
    await using all = await setUp({}, { defaultTtl: -1 })
    const { items, feed, clock, under } = all
    await items.create({ id: 'a', pk: 'p', ttl: 5 })
    const continuation = await startOf(feed, 'now')
    clock.advance(6000)
    await under.store.runMaintenance()
    const { changes } = await rest(feed, { continuation })
    expect(changes).toMatchObject([{ kind: 'pendingDelete', id: 'a', lastVersion: { ttl: 5 } }])
    const without = await feed.readPage({ range: FULL_RANGE, continuation, pendingDeletes: false })
    expect(without.changes).toEqual([])
  })

  test('CF-12 a reader that waits is told of the next commit', async () => {
    await using all = await setUp({})
    const { items, feed } = all
    const continuation = await startOf(feed, 'now')
    const { signal } = new AbortController()
    const wait = { range: FULL_RANGE, continuation, signal }
    expect(await feed.waitForChanges?.({ ...wait, timeoutMs: 20 })).toBe(false)
    const woken = feed.waitForChanges?.({ ...wait, timeoutMs: 20_000 })
    await items.create({ id: 'a', pk: 'p' })
    expect(await woken).toBe(true)
    const stop = new AbortController()
    const waiting = feed.waitForChanges?.({
      ...wait,
      continuation: await startOf(feed, 'now'),
      timeoutMs: 20_000,
      signal: stop.signal,
    })
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })

  test('TTL-14 positions of groups are those of the collection', async () => {
    await using all = await setUp({})
    const { items, feed } = all
    const told = { group: 'größe', range: FULL_RANGE, lsn: lsn(3) }
    await feed.positions?.report([told])
    expect(await items.positions.read('größe')).toEqual([told])
    expect(await feed.positions?.read('größe')).toEqual([told])
    expect(feed.identity).toBe(items.identity)
  })

  test('LE-15 a plain server joins positions that are all at one LSN, of one pkrange', async () => {
    await using all = await setUp({ fetch: plainServerFetch() })
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

  test('a plain server has neither, so that nobody relies on them', async () => {
    await using all = await setUp({ fetch: plainServerFetch() })
    const { feed } = all
    expect(feed.supports).toEqual({ waiting: false, childrenCarryParentChanges: true })
    for (const name of ['positions', 'waitForChanges', 'positionAt', 'measureLag']) {
      expect(name in feed).toBe(false)
    }
  })
})

function pick({ continuation }: { readonly continuation: string }): {
  readonly continuation: string
} {
  return { continuation }
}
