import { setImmediate } from 'node:timers/promises'
import { FULL_RANGE, type ChangeFeedSource } from '@tidemark/contracts'
import { openChangeFeed, type HttpFetch } from '@tidemark/gateway/client'
import type { Collection } from '@tidemark/store'
import { ChangeFeedProcessorHost, MemoryLeaseStore } from '@tidemark/processor'
import { expect, test, vi } from 'vitest'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'

interface Item {
  readonly id: string
  readonly pk: string
}

const TIMEOUT_MS = 10_000

async function setUp() {
  const under = await gatewayUnderTest()
  const items: Collection<Item> = await under.store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk' })
  const calls: string[] = []
  const counting: HttpFetch = (url, request) => {
    const { call } = JSON.parse(request.headers['x-tidemark-call'] ?? '{}') as { call?: string }
    if (call !== undefined) calls.push(call)
    return fetch(url, request)
  }
  const connection = under.connect({ fetch: counting })
  const feed: ChangeFeedSource<Item> = await openChangeFeed<Item>(connection, {
    database: 'db',
    container: 'items',
  })
  const { continuation } = await feed.resolveStart({ range: FULL_RANGE, start: 'now' })
  const signal = new AbortController().signal
  const read = (from: string, maxItemCount: number = 10) =>
    feed.readPage({ range: FULL_RANGE, continuation: from, maxItemCount })
  const wait = (from: string) =>
    feed.waitForChanges!({ range: FULL_RANGE, continuation: from, timeoutMs: TIMEOUT_MS, signal })
  await read(continuation)
  calls.length = 0
  return {
    items,
    feed,
    calls,
    start: continuation,
    read,
    wait,
    [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
  }
}

test('CF-12 the page comes with the end of the wait, and is taken once', async () => {
  await using all = await setUp()
  const { items, calls, start, read, wait } = all
  const waiting = wait(start)
  await items.create({ id: 'a', pk: 'p' })
  expect(await waiting).toBe(true)
  const page = await read(start)
  expect(page.changes).toMatchObject([{ id: 'a', document: { pk: 'p' } }])
  expect(calls).toEqual(['awaitPage'])
  await items.upsert({ id: 'a', pk: 'p' })
  expect((await read(start)).changes).toMatchObject([{ lsn: 2 }])
  expect(await wait(page.continuation)).toBe(true)
  expect((await read(page.continuation)).changes).toMatchObject([{ id: 'a', lsn: 2 }])
  expect(calls).toEqual(['awaitPage', 'readPage', 'awaitPage'])
})

test('CF-12 it is for the read that would have been answered so, in the same turn of the event loop', async () => {
  await using all = await setUp()
  const { items, calls, start, read, wait } = all
  for (const id of ['a', 'b']) await items.create({ id, pk: 'p' })
  await wait(start)
  expect((await read(start, 1)).changes).toMatchObject([{ id: 'a' }])
  expect(calls).toEqual(['awaitPage', 'readPage'])
  await read(start)
  calls.length = 0
  await wait(start)
  await setImmediate()
  await items.upsert({ id: 'a', pk: 'p' })
  expect((await read(start)).changes).toMatchObject([{ id: 'b' }, { id: 'a', lsn: 3 }])
  expect(calls).toEqual(['awaitPage', 'readPage'])
})

test('CF-12 of two readers of one feed, none gets a page without the pending deletes that it wants', async () => {
  await using all = await setUp()
  const { items, feed, calls, start, wait } = all
  await items.create({ id: 'a', pk: 'p' })
  const request = { range: FULL_RANGE, continuation: start, maxItemCount: 10 }
  await feed.readPage({ ...request, pendingDeletes: false })
  calls.length = 0
  await wait(start)
  await feed.readPage({ ...request, pendingDeletes: true })
  await wait(start)
  await feed.readPage({ ...request, pendingDeletes: true })
  expect(calls).toEqual(['awaitPage', 'readPage', 'awaitPage'])
})

test('CF-12 a host that waits asks once for each change', async () => {
  await using all = await setUp()
  const { items, feed, calls } = all
  const changes: string[] = []
  const host = new ChangeFeedProcessorHost({
    hostName: 'a',
    group: 'group',
    feed,
    leases: new MemoryLeaseStore(),
  })
  await host.registerObserver((_context, page) => {
    for (const { id } of page) changes.push(id)
  })
  await vi.waitFor(() => expect(calls).toContain('awaitPage'))
  const reads = calls.filter((call) => call === 'readPage').length
  for (const id of ['a', 'b', 'c']) {
    await items.create({ id, pk: 'p' })
    await vi.waitFor(() => expect(changes).toContain(id))
  }
  expect(calls.filter((call) => call === 'readPage')).toHaveLength(reads)
  await host.unregisterObservers()
})
