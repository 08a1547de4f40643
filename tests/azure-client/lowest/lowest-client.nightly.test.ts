import { CosmosClient as LowestClient } from 'azure-cosmos-lowest'
import { cosmosFeed, cosmosLeases } from '@tidemark/cosmos'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { StoreTime } from '@tidemark/testing/conformance'
import { expect, test, vi } from 'vitest'
import { START_MS, feedCases, type Item } from '../../gateway-client/feed-cases.fixture.ts'
import { accountUnderTest } from '../account-under-test.fixture.ts'

/* The oldest client that the package allows. */

vi.mock('@azure/cosmos', () => import('azure-cosmos-lowest'))

const lowest = async (options: object) =>
  // Its declarations have other private members.
  accountUnderTest({ ...options, client: LowestClient as never })

feedCases('the feed of a container by the oldest client', async (options = {}) => {
  const clock = new StoreTime(START_MS)
  const under = await lowest({ clock, maintenance: 'manual' })
  const { store, failures } = under
  const items = await store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', ...options })
  const feed = cosmosFeed<Item>(under.container('items'))
  const end = async (): Promise<void> => under[Symbol.asyncDispose]()
  return { clock, store, failures, items, feed, [Symbol.asyncDispose]: end }
})

test('ST-9 a merge that another reader has seen: an iterator reads its own keys, no others', async () => {
  await using under = await lowest({})
  const items = await under.store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', partitionCount: 2 })
  const feed = cosmosFeed<Item>(under.container('items'))
  const [low, high] = await feed.readFeedRanges()
  const places = []
  for (const range of [low!, high!]) {
    const { continuation } = await feed.resolveStart({ range, start: 'now' })
    places.push({ range, ...(await feed.readPage({ range, continuation })) })
  }
  await items.merge(low!.id!, high!.id!)
  for (let n = 0; n < 20; n++) await items.upsert({ id: `d${n}`, pk: `p${n}` })
  const seen = []
  for (const { range, continuation } of places) {
    const { changes } = await feed.readPage({ range, continuation })
    seen.push(changes.map(({ id }) => id))
  }
  expect(seen[0]!.length * seen[1]!.length).toBeGreaterThan(0)
  expect(seen.flat().toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `d${n}`).toSorted())
})

test('a worker of the oldest client works through a split and a merge', async () => {
  await using under = await lowest({})
  const items = await under.store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', partitionCount: 2 })
  const seen: string[] = []
  const host = new ChangeFeedProcessorHost<Item>({
    group: 'mirror',
    feed: cosmosFeed<Item>(under.container('items')),
    leases: cosmosLeases(under.container('leases')),
    feedOptions: { startFromBeginning: true },
    hostOptions: { feedPollDelayMs: 20, leaseRenewIntervalMs: 500 },
  })
  await host.registerObserver({
    processChanges: (_context, changes) => {
      for (const { id } of changes) seen.push(id)
    },
  })
  const expected: string[] = []
  const round = async (n: number): Promise<void> => {
    for (let key = 0; key < 10; key++) {
      await items.create({ id: `d${n}${key}`, pk: `p${key}` })
      expected.push(`d${n}${key}`)
    }
    await expect.poll(() => seen.length).toBe(expected.length)
  }
  await round(1)
  const [low] = await items.readFeedRanges()
  await items.split(low!.id!)
  await round(2)
  const [first, second] = await items.readFeedRanges()
  await items.merge(first!.id!, second!.id!)
  await round(3)
  await host.unregisterObservers()
  expect(seen.toSorted()).toEqual(expected.toSorted())
})
