import { ChangeFeedMode, ChangeFeedStartFrom, type Container } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { drain, openInterop, pathOf, refusal, sortedIds, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
})
beforeEach(async () => {
  container = await interop.container({
    defaultTtl: -1,
    throughput: 20_000,
    changeFeedPolicy: { retentionDuration: 5 },
  })
})
afterAll(() => interop.close())

interface Version {
  readonly current: { readonly id?: string; readonly n?: number }
  readonly previous?: { readonly id?: string; readonly n?: number }
  readonly metadata: {
    readonly operationType: string
    readonly lsn: number
    readonly previousImageLSN: number
    readonly crts: number
    readonly timeToLiveExpired: boolean
    readonly id?: string
    readonly partitionKey?: Readonly<Record<string, unknown>>
  }
}

const follow = (changeFeedStartFrom: ChangeFeedStartFrom = ChangeFeedStartFrom.Now()) =>
  container.items.getChangeFeedIterator<Version>({
    changeFeedStartFrom,
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
  })

/** An iterator that stands at now. */
async function fromNow(start?: ChangeFeedStartFrom) {
  const feed = follow(start)
  expect((await feed.readNext()).statusCode).toBe(304)
  return feed
}

describe('All versions and deletes', () => {
  test('CF-11 create, replace and delete, each in order', async () => {
    const feed = await fromNow()
    await container.items.create({ id: 'a', pk: 'x', n: 1 })
    await container.item('a', 'x').replace({ id: 'a', pk: 'x', n: 2 })
    await container.item('a', 'x').delete()
    const versions = await drain(feed)
    expect(versions.map(({ metadata }) => metadata.operationType)).toEqual([
      'create',
      'replace',
      'delete',
    ])
    expect(versions.map(({ current }) => current.n)).toEqual([1, 2, undefined])
  })

  test('CF-11 every version in between appears, also of upserts and patches', async () => {
    const feed = await fromNow()
    await container.items.upsert({ id: 'a', pk: 'x', n: 1 })
    await container.items.upsert({ id: 'a', pk: 'x', n: 2 })
    await container.item('a', 'x').patch([{ op: 'incr', path: '/n', value: 1 }])
    const versions = await drain(feed)
    expect(versions.map(({ current }) => current.n)).toEqual([1, 2, 3])
    expect(versions.map(({ metadata }) => metadata.operationType)).toEqual([
      'create',
      'replace',
      'replace',
    ])
  })

  test('a create has no previous image, and previousImageLSN 0', async () => {
    const feed = await fromNow()
    await container.items.create({ id: 'a', pk: 'x' })
    const [version] = await drain(feed)
    expect(version).not.toHaveProperty('previous')
    expect(version?.metadata.previousImageLSN).toBe(0)
  })

  test('a replace names the LSN of the version before', async () => {
    const feed = await fromNow()
    await container.items.create({ id: 'a', pk: 'x' })
    await container.items.upsert({ id: 'a', pk: 'x' })
    const [create, replace] = await drain(feed)
    expect(replace?.metadata.previousImageLSN).toBe(create?.metadata.lsn)
    expect(replace?.metadata.lsn).toBeGreaterThan(create?.metadata.lsn ?? 0)
  })

  test('a delete has an empty current, the deleted document, its id and partition key', async () => {
    await container.items.create({ id: 'a', pk: 'x', n: 7 })
    const feed = await fromNow()
    await container.item('a', 'x').delete()
    const [version] = await drain(feed)
    expect(version?.current).toEqual({})
    expect(version?.previous).toMatchObject({ id: 'a', n: 7 })
    expect(version?.metadata).toMatchObject({
      operationType: 'delete',
      id: 'a',
      partitionKey: { pk: 'x' },
      timeToLiveExpired: false,
    })
  })

  test('a delete names its key by the paths, without the first slash, of every level', async () => {
    const keys: readonly (readonly [string[], object, object])[] = [
      [
        ['/customer/address/zip'],
        { customer: { address: { zip: 7 } } },
        { 'customer/address/zip': 7 },
      ],
      [['/t', '/u/name'], { t: 'x', u: { name: null } }, { t: 'x', 'u/name': null }],
      [['/t', '/u/name'], { t: 'x' }, { t: 'x' }],
    ]
    for (const [paths, properties, partitionKey] of keys) {
      container = await interop.container({
        partitionKey: {
          paths,
          version: 2,
          kind: (paths.length > 1 ? 'MultiHash' : 'Hash') as never,
        },
        changeFeedPolicy: { retentionDuration: 5 },
      })
      const feed = await fromNow()
      const { item } = await container.items.create({ id: 'a', ...properties })
      await item.delete()
      const metadata = (await drain(feed)).at(-1)?.metadata
      expect(metadata?.partitionKey).toEqual(partitionKey)
    }
  })

  test('crts is the time of the commit in whole seconds', async () => {
    const feed = await fromNow()
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const [version] = await drain(feed)
    expect(version?.metadata.crts).toBe(resource?._ts)
  })

  test('expiry is a delete with timeToLiveExpired', async () => {
    await container.items.create({ id: 'a', pk: 'x', ttl: 10 })
    const feed = await fromNow()
    interop.clock.step(11_000)
    await interop.store.runMaintenance()
    const [version] = await drain(feed)
    expect(version?.metadata).toMatchObject({ operationType: 'delete', timeToLiveExpired: true })
    expect(version?.previous).toMatchObject({ id: 'a' })
  })

  test('of one partition key', async () => {
    const feed = await fromNow(ChangeFeedStartFrom.Now('x'))
    await container.items.create({ id: 'a', pk: 'x' })
    await container.items.create({ id: 'b', pk: 'y' })
    await container.item('a', 'x').delete()
    expect((await drain(feed)).map(({ metadata }) => metadata.operationType)).toEqual([
      'create',
      'delete',
    ])
  })

  test('of feed ranges: together they see everything once', async () => {
    const feeds = []
    for (const range of await container.getFeedRanges()) {
      feeds.push(await fromNow(ChangeFeedStartFrom.Now(range)))
    }
    for (let n = 0; n < 10; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    const all = [...(await drain(feeds[0]!)), ...(await drain(feeds[1]!))]
    expect(sortedIds(all.map(({ current }) => current))).toEqual(
      Array.from({ length: 10 }, (_, n) => `d${n}`),
    )
  })

  test('from a continuation', async () => {
    const feed = await fromNow(ChangeFeedStartFrom.Now('x'))
    const { continuationToken } = await feed.readNext()
    await container.items.create({ id: 'a', pk: 'x' })
    await container.item('a', 'x').delete()
    const versions = await drain(follow(ChangeFeedStartFrom.Continuation(continuationToken)))
    expect(versions).toHaveLength(2)
  })

  test('ST-9 goes on over a split', async () => {
    const feed = await fromNow()
    for (let n = 0; n < 10; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    await interop.split(container, '0')
    for (let n = 0; n < 10; n++) await container.item(`d${n}`, `p${n}`).delete()
    const versions = await drain(feed)
    expect(versions).toHaveLength(20)
    expect(versions.filter(({ metadata }) => metadata.operationType === 'delete')).toHaveLength(10)
  })

  test('from the beginning is 400', async () => {
    const error = await refusal(follow(ChangeFeedStartFrom.Beginning()).readNext())
    expect(error.code).toBe(400)
    expect(error.message).toContain('beginning')
    expect(error.message).toContain(
      'You must read the change feed from within the retention period.',
    )
  })

  test('of a container that does not keep versions is 400', async () => {
    container = await interop.container()
    expect((await refusal(follow().readNext())).code).toBe(400)
  })

  test('a position older than the retention is 400', async () => {
    const feed = await fromNow(ChangeFeedStartFrom.Now('x'))
    const { continuationToken } = await feed.readNext()
    await container.items.create({ id: 'a', pk: 'x' })
    interop.clock.step(600_000)
    for (let n = 0; n < 3; n++) await interop.store.runMaintenance()
    const old = follow(ChangeFeedStartFrom.Continuation(continuationToken))
    expect((await refusal(old.readNext())).code).toBe(400)
  })

  test('the feed of newest versions of the same container has no deletes', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    await container.items.create({ id: 'b', pk: 'x' })
    await container.item('a', 'x').delete()
    const feed = container.items.getChangeFeedIterator<{ id: string }>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning('x'),
    })
    expect((await drain(feed)).map(({ id }) => id)).toEqual(['b'])
  })

  // source: as of the newest versions, see change-feed.test.ts
  test('a page that ends early names the newest LSN of its range in session token and lsn', async () => {
    const { item } = await container.items.create({ id: 'a', pk: 'x' })
    await item.replace({ id: 'a', pk: 'x', n: 1 })
    const { headers } = await item.delete()
    const [range = '', lsn = ''] = String(headers['x-ms-session-token']).split(':-1#')
    const page = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: {
        'a-im': 'Full-Fidelity Feed',
        'if-none-match': `"${Number(lsn) - 3}"`,
        'x-ms-max-item-count': '1',
        'x-ms-documentdb-partitionkeyrangeid': range,
      },
    })
    expect(page.headers.get('etag')).toBe(`"${Number(lsn) - 2}"`)
    expect(page.headers.get('x-ms-session-token')).toBe(headers['x-ms-session-token'])
    expect(page.headers.get('lsn')).toBe(lsn)
  })

  test('A-IM in another case is the same, and a poll without news is 304 with an etag', async () => {
    const { status, headers, text } = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: {
        'a-im': 'full-fidelity feed',
        'if-none-match': '*',
        'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15',
        'x-ms-documentdb-partitionkeyrangeid': '0',
      },
    })
    expect([status, text]).toEqual([304, ''])
    expect(headers.get('etag')).toMatch(/^"\d+"$/)
    expect(headers.get('x-ms-item-count')).toBe('0')
  })
})
