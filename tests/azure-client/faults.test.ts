import { FULL_RANGE, errorCode } from '@tidemark/contracts'
import { cosmosDocuments, cosmosFeed, cosmosLeases } from '@tidemark/cosmos'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { expect, test } from 'vitest'
import { accountUnderTest } from './account-under-test.fixture.ts'
import { isFeedRead, type AskedRequest, type Fault } from './plain-account.fixture.ts'

/* What the client repeats by itself, and what a worker makes of what is left. Every test asserts that its faults happened. */

interface Item {
  readonly id: string
  readonly pk: string
  readonly n: number
}

async function feedUnderTest() {
  const under = await accountUnderTest()
  const items = await under.store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk' })
  for (let n = 0; n < 6; n++) await items.create({ id: `d${n}`, pk: 'p', n })
  const container = under.container('items', { connectionPolicy: { requestTimeout: 1000 } })
  const feed = cosmosFeed<Item>(container)
  const start = await feed.resolveStart({ range: FULL_RANGE, start: 'beginning' })
  const first = await feed.readPage({ ...start, range: FULL_RANGE, maxItemCount: 2 })
  return {
    under,
    items,
    read: async ({ continuation }: { continuation: string } = first) => {
      const page = await feed.readPage({ range: FULL_RANGE, continuation, maxItemCount: 2 })
      return { ...page, ids: page.changes.map(({ id }) => id) }
    },
    [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
  }
}

test.each<[string, number, Fault]>([
  ['throttling', 3, { status: 429, substatus: 3200, retryAfterMs: 1 }],
  ['a pkrange that is said to be gone', 1, { status: 410, substatus: 1002 }],
  ['a split that is not over', 2, { status: 410, substatus: 1007 }],
  ['a pkrange that moves', 1, { status: 410, substatus: 1008 }],
  ['a region that is away for a moment', 1, { status: 503 }],
  ['an answer that takes too long', 1, { delayMs: 1500 }],
])('%s, %d times: the page comes, and the next one after it', async (_name, times, fault) => {
  await using all = await feedUnderTest()
  const { account } = all.under
  account.failNext(times, isFeedRead, fault)
  const page = await all.read()
  expect(account.faults).toBe(times)
  expect(page.ids).toEqual(['d2', 'd3'])
  expect((await all.read(page)).ids).toEqual(['d4', 'd5'])
})

test.each<[Fault, string, boolean]>([
  [{ status: 429, substatus: 3200, retryAfterMs: 1 }, 'ERR_THROTTLED', true],
  [{ status: 410, substatus: 1008 }, 'ERR_STORE_UNAVAILABLE', true],
  [{ status: 410, substatus: 1000 }, 'ERR_NOT_FOUND', false],
  [{ status: 449 }, 'ERR_STORE_UNAVAILABLE', true],
  [{ status: 503 }, 'ERR_STORE_UNAVAILABLE', true],
  [{ status: 401 }, 'ERR_UNAUTHORIZED', false],
  [{ status: 403 }, 'ERR_FORBIDDEN', false],
  [{ status: 404, substatus: 1003 }, 'ERR_NOT_FOUND', false],
])('%j without end is %s, and no position is lost by it', async (fault, code, retryable) => {
  await using all = await feedUnderTest()
  const { account } = all.under
  account.fault = (request) => (isFeedRead(request) ? fault : undefined)
  await expect(all.read()).rejects.toMatchObject({ code, retryable })
  expect(account.faults).toBeGreaterThan(0)
  account.fault = undefined
  expect((await all.read()).ids).toEqual(['d2', 'd3'])
})

test('a read that nobody waits for any more rejects with the reason, and the next one is right', async () => {
  await using all = await feedUnderTest()
  const { account, container } = { ...all.under, container: all.under.container('items') }
  const feed = cosmosFeed<Item>(container)
  const start = await feed.resolveStart({ range: FULL_RANGE, start: 'beginning' })
  const stop = new AbortController()
  const faulty = Promise.withResolvers<void>()
  account.fault = (request) => {
    if (!isFeedRead(request)) return undefined
    faulty.resolve()
    return { delayMs: 300 }
  }
  const reading = feed.readPage({ ...start, range: FULL_RANGE, signal: stop.signal })
  await faulty.promise
  stop.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  account.fault = undefined
  const page = await feed.readPage({ ...start, range: FULL_RANGE })
  expect(page.changes).toHaveLength(6)
})

test('what the client rejects a write with has our code, and says whether the outcome is known', async () => {
  await using under = await accountUnderTest()
  await under.store.database('db').createCollectionIfNotExists({ id: 'docs', partitionKey: '/pk' })
  const { account } = under
  const documents = cosmosDocuments<Item>(under.container('docs'))
  await documents.create({ id: 'a', pk: 'p', n: 1 })
  const codeOf = (act: Promise<unknown>): Promise<string | undefined> =>
    act.then(
      () => 'done',
      (error: unknown) => errorCode(error),
    )
  expect(await codeOf(documents.create({ id: 'a', pk: 'p', n: 1 }))).toBe('ERR_EXISTS')
  expect(await codeOf(documents.replace({ id: 'b', pk: 'p', n: 1 }))).toBe('ERR_NOT_FOUND')
  expect(await codeOf(documents.delete('b', 'p'))).toBe('ERR_NOT_FOUND')
  // Both conditions, of which the client has room for one.
  const both = documents.upsert({ id: 'a', pk: 'p', n: 2 }, { ifMatch: '"0"', ifNoneMatch: '"1"' })
  expect(await codeOf(both)).toBe('ERR_PRECONDITION_FAILED')
  const sent = account.asked.at(-1)?.header
  expect([sent?.('if-match'), sent?.('if-none-match')]).toEqual(['"0"', '"1"'])
  // Dates of answers are whole seconds.
  expect(documents.serverTimeErrorMs).toBe(1000)
  // The client would ask for document `a`.
  expect(await codeOf(documents.delete('a?b', 'p'))).toBe('ERR_INVALID_DOCUMENT')
  expect(await codeOf(documents.upsert({ id: 'a?b', pk: 'p', n: 1 }))).toBe('ERR_INVALID_DOCUMENT')
  expect(await codeOf(documents.upsert({ id: 'a', pk: 'p', n: 2 }, { ifMatch: '"0"' }))).toBe(
    'ERR_PRECONDITION_FAILED',
  )
  expect(await codeOf(documents.create({ id: 'c', pk: 'p', n: 1 }, { partitionKey: 'q' }))).toBe(
    'ERR_PARTITION_KEY_MISMATCH',
  )
  expect(
    await codeOf(
      documents.batch('p', [
        { kind: 'read', id: 'a' },
        { kind: 'delete', id: 'b' },
      ]),
    ),
  ).toBe('ERR_BATCH_FAILED')
  const isWrite = ({ method, path }: AskedRequest): boolean =>
    method === 'POST' && path.endsWith('/docs')
  account.failNext(1, isWrite, { status: 449 })
  await expect(documents.upsert({ id: 'a', pk: 'p', n: 3 })).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    message: expect.stringContaining('its outcome is unknown'),
    cause: expect.objectContaining({ code: 449 }),
  })
  account.failNext(1, isWrite, { status: 503 })
  await expect(
    documents.batch('p', [{ kind: 'upsert', document: { id: 'a', pk: 'p', n: 3 } }]),
  ).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', retryable: true })
  expect(account.faults).toBe(2)
  expect(await documents.read('a', 'p')).toMatchObject({ document: { n: 1 } })
  expect(await documents.read('a', 'q')).toMatchObject({ document: undefined })
})

test('workers on an account that fails at random see every key in order, through a split and a merge', async () => {
  await using under = await accountUnderTest()
  const { account } = under
  const items = await under.store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', partitionCount: 2 })
  const FAULTS: readonly Fault[] = [
    { status: 429, substatus: 3200, retryAfterMs: 1 },
    { status: 410, substatus: 1002 },
    { status: 410, substatus: 1008 },
    { status: 449 },
    { status: 503 },
    { delayMs: 30 },
  ]
  let request = 0
  const had = new Set<Fault>()
  account.fault = () => {
    const fault = request++ % 7 === 0 ? FAULTS[(request * 5) % FAULTS.length] : undefined
    if (fault !== undefined) had.add(fault)
    return fault
  }
  const seen = new Map<string, number[]>()
  const host = (hostName: string) =>
    new ChangeFeedProcessorHost<Item>({
      hostName,
      group: 'mirror',
      feed: cosmosFeed<Item>(under.container('items')),
      leases: cosmosLeases(under.container('leases')),
      logger: false,
      feedOptions: { startFromBeginning: true, maxItemCount: 5 },
      hostOptions: { feedPollDelayMs: 20, leaseRenewIntervalMs: 500 },
    })
  const hosts = [host('w1'), host('w2')]
  const observer = {
    processChanges: (_context: unknown, changes: readonly { id: string; document?: Item }[]) => {
      for (const { id, document } of changes) {
        const list = seen.get(id) ?? []
        list.push(document?.n ?? -1)
        seen.set(id, list)
      }
    },
  }
  for (const one of hosts) await one.registerObserver(observer as never)
  const KEYS = 10
  const round = async (n: number): Promise<void> => {
    for (let key = 0; key < KEYS; key++) await items.upsert({ id: `d${key}`, pk: `p${key}`, n })
  }
  const caughtUp = async (n: number): Promise<void> => {
    await expect
      .poll(() => [...seen.values()].filter((list) => list.at(-1) === n).length, {
        timeout: 60_000,
      })
      .toBe(KEYS)
  }
  await round(1)
  await caughtUp(1)
  const [low] = await items.readFeedRanges()
  await items.split(low!.id!)
  await round(2)
  await caughtUp(2)
  const [first, second] = await items.readFeedRanges()
  await items.merge(first!.id!, second!.id!)
  await round(3)
  await caughtUp(3)
  for (const one of hosts) await one.unregisterObservers()
  for (const [id, list] of seen)
    expect([id, ...list]).toEqual([id, ...list.toSorted((a, b) => a - b)])
  expect(had.size).toBe(FAULTS.length)
  expect(account.faults).toBeGreaterThan(20)
})
