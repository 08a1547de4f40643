import { FULL_RANGE, lsn } from '@tidemark/contracts'
import { openChangeFeed } from '@tidemark/gateway/client'
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
} from './feed-cases.fixture.ts'
import { gatewayUnderTest, type GatewayUnderTest } from './gateway-under-test.fixture.ts'
import { PlainAccount } from '../azure-client/plain-account.fixture.ts'

const NAME = { database: 'db', container: 'items' }

async function setUp(
  options: Partial<CollectionOptions> = {},
): Promise<FeedUnderTest & { readonly under: GatewayUnderTest }> {
  const clock = new StoreTime(START_MS)
  const under = await gatewayUnderTest({ clock, maintenance: 'manual' })
  const { store, failures } = under
  const items = await store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', ...options })
  const feed = await openChangeFeed<Item>(under.connect(), NAME)
  const end = async (): Promise<void> => under[Symbol.asyncDispose]()
  return { clock, under, store, failures, items, feed, [Symbol.asyncDispose]: end }
}

feedCases('the feed of our gateway', setUp)

describe('what only our gateway has', () => {
  test('TTL-13 pending deletes, unless they are not wanted', async () => {
    await using all = await setUp({ defaultTtl: -1 })
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
    await using all = await setUp()
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
    await using all = await setUp()
    const { items, feed } = all
    const told = { group: 'größe', range: FULL_RANGE, lsn: lsn(3) }
    await feed.positions?.report([told])
    expect(await items.positions.read('größe')).toEqual([told])
    expect(await feed.positions?.read('größe')).toEqual([told])
    expect(feed.identity).toBe(items.identity)
  })

  test('CF-15 a page is of the state that a session token names, or there is none', async () => {
    await using all = await setUp()
    const { items, under } = all
    await items.create({ id: 'a', pk: 'p' })
    const open = (sessionToken: string) =>
      openChangeFeed<Item>(under.connect({ maxRetryMs: 1 }), {
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

  test('a server of another kind is refused with the package that reads it', async () => {
    await using all = await setUp()
    await using account = await PlainAccount.before(all.under.gateway.endpoint)
    const connection = all.under.connect({ endpoint: account.endpoint })
    await expect(openChangeFeed(connection, NAME)).rejects.toMatchObject({
      code: 'ERR_SERVER_UNSUPPORTED',
      message: expect.stringContaining('@tidemark/cosmos'),
    })
  })
})
