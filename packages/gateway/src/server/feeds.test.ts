import { ChangeFeedStartFrom, type ChangeFeedPullModelIterator } from '@azure/cosmos'
import { expect, test } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

/** Reads until the iterator has nothing: the ids that came. */
async function drain<T>(feed: ChangeFeedPullModelIterator<T>): Promise<readonly T[]> {
  const items: T[] = []
  for (;;) {
    const page = await feed.readNext()
    if (page.statusCode === 304) return items
    items.push(...page.result)
  }
}

test('CF-6 the start modes: beginning, now, a time, a continuation', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', throughput: 20_000 })
  for (let n = 0; n < 10; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
  const from = (changeFeedStartFrom: ChangeFeedStartFrom) =>
    container.items.getChangeFeedIterator<{ id: string }>({ changeFeedStartFrom })
  const beginning = from(ChangeFeedStartFrom.Beginning())
  expect(await drain(beginning)).toHaveLength(10)
  const now = from(ChangeFeedStartFrom.Now())
  expect(await drain(now)).toEqual([])
  const ofTime = from(ChangeFeedStartFrom.Time(new Date(Date.now() - 60_000)))
  expect(await drain(ofTime)).toHaveLength(10)
  const before = (await beginning.readNext()).continuationToken
  await container.items.create({ id: 'late', pk: 'p3' })
  expect(await drain(now)).toMatchObject([{ id: 'late' }])
  expect(await drain(from(ChangeFeedStartFrom.Continuation(before)))).toMatchObject([
    { id: 'late' },
  ])
  const ofKey = from(ChangeFeedStartFrom.Beginning('p3'))
  expect(await drain(ofKey)).toMatchObject([{ id: 'd3' }, { id: 'late' }])
  const [first, second] = await container.getFeedRanges()
  const parts = [first, second].map((range) => from(ChangeFeedStartFrom.Beginning(range as never)))
  const [low, high] = [await drain(parts[0]!), await drain(parts[1]!)]
  expect(low.length + high.length).toBe(11)
  expect(low.length * high.length).toBeGreaterThan(0)
  expect(started.failures).toEqual([])
})

test('ST-9 a split while somebody iterates loses nothing and repeats nothing', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  for (let n = 0; n < 20; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
  const feed = container.items.getChangeFeedIterator<{ id: string }>({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    maxItemCount: 5,
  })
  const first = await feed.readNext()
  expect(first.count).toBe(5)
  await started.store.database('db').collection('c').split('0')
  await container.items.create({ id: 'after', pk: 'p3' })
  const rest = await drain(feed)
  const ids = [...first.result, ...rest].map(({ id }) => id)
  expect(new Set(ids).size).toBe(21)
  expect(ids).toHaveLength(21)
})

test('CF-11 all versions and deletes: each version, and the deleted document', async () => {
  await using started = await testGateway()
  const container = await started.container({
    id: 'c',
    partitionKey: '/pk',
    changeFeedPolicy: { retentionDuration: 5 } as never,
  })
  const feed = container.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
    changeFeedMode: 'Full-Fidelity Feed' as never,
  })
  expect((await feed.readNext()).statusCode).toBe(304)
  await container.items.create({ id: 'a', pk: 'x', n: 1 })
  await container.items.upsert({ id: 'a', pk: 'x', n: 2 })
  await container.item('a', 'x').delete()
  const entries = await drain(feed)
  expect(entries).toMatchObject([
    { current: { n: 1 }, metadata: { operationType: 'create', previousImageLSN: 0 } },
    { current: { n: 2 }, metadata: { operationType: 'replace' } },
    {
      current: {},
      previous: { n: 2 },
      metadata: {
        operationType: 'delete',
        id: 'a',
        partitionKey: { pk: 'x' },
        timeToLiveExpired: false,
      },
    },
  ])
  const beginning = container.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    changeFeedMode: 'Full-Fidelity Feed' as never,
  })
  await expect(beginning.readNext()).rejects.toMatchObject({ code: 400 })
})

test.each(['Incremental feed', 'Full-Fidelity Feed'])(
  'CF-8 an etag beyond the newest LSN (%s) is refused, also by a read that would wait, and the newest is not',
  async (mode) => {
    await using started = await testGateway()
    const changeFeedPolicy = { retentionDuration: 5 }
    const container = await started.container({ id: 'c', partitionKey: '/pk', changeFeedPolicy })
    await container.items.create({ id: 'a', pk: 'x' })
    const { headers: written } = await container.items.create({ id: 'b', pk: 'x' })
    const newest = Number(written['lsn'])
    const read = (lsn: number, headers = {}) =>
      send(started.gateway.endpoint, 'GET', '/dbs/db/colls/c/docs', {
        headers: { 'a-im': mode, 'if-none-match': `"${lsn}"`, ...headers },
      })
    const at = await read(newest)
    expect([at.status, at.headers.get('etag')]).toEqual([304, `"${newest}"`])
    for (const headers of [{}, { 'x-tidemark-wait-ms': '30000' }]) {
      expect(await read(newest + 1, headers)).toMatchObject({
        status: 400,
        json: { message: expect.stringContaining(`newest of its range is ${newest}`) },
      })
    }
    expect(started.failures).toEqual([])
  },
)

test('the older change feed by partition key reads to the end', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  for (let n = 0; n < 5; n++) await container.items.create({ id: `d${n}`, pk: 'x' })
  const feed = container.items.changeFeed('x', { startFromBeginning: true, maxItemCount: 2 })
  const ids: string[] = []
  while (feed.hasMoreResults) {
    const page = await feed.fetchNext()
    ids.push(...(page.result ?? []).map((document: { id: string }) => document.id))
  }
  expect(ids).toEqual(['d0', 'd1', 'd2', 'd3', 'd4'])
})
