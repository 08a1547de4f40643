import {
  ChangeFeedStartFrom,
  PartitionKeyBuilder,
  type Container,
  type FeedRange,
} from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  drain,
  idsOf,
  openInterop,
  pathOf,
  refusal,
  sortedIds,
  type Interop,
} from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

interface Doc {
  readonly id: string
  readonly pk?: string
  readonly n?: number
  readonly _lsn?: number
}

const KEYS = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']

async function fill(target: Container = container, prefix = 'd'): Promise<void> {
  for (const [n, pk] of KEYS.entries()) await target.items.create({ id: `${prefix}${n}`, pk, n })
}

const start = (changeFeedStartFrom: ChangeFeedStartFrom, maxItemCount?: number) =>
  container.items.getChangeFeedIterator<Doc>({
    changeFeedStartFrom,
    ...(maxItemCount !== undefined && { maxItemCount }),
  })

/** A feed read as it is on the wire. */
async function read(headers: Readonly<Record<string, string>> = {}, rangeId = '0') {
  const answer = await interop.send({
    path: `${pathOf(container)}/docs`,
    headers: {
      'a-im': 'Incremental Feed',
      'x-ms-documentdb-partitionkeyrangeid': rangeId,
      ...headers,
    },
  })
  const documents = (answer.json?.['Documents'] ?? []) as readonly Doc[]
  return { ...answer, documents, etag: answer.headers.get('etag') ?? '' }
}

describe('Change feed of a container', () => {
  beforeEach(async () => {
    container = await interop.container({ throughput: 25_100 })
  })

  test('CF-4 from the beginning: every document, of all ranges', async () => {
    await fill()
    expect(sortedIds(await drain(start(ChangeFeedStartFrom.Beginning())))).toEqual([
      'd0',
      'd1',
      'd2',
      'd3',
      'd4',
      'd5',
    ])
  })

  test('CF-6 from now: only what is written after the first read', async () => {
    await fill()
    const feed = start(ChangeFeedStartFrom.Now())
    expect((await feed.readNext()).statusCode).toBe(304)
    await container.items.create({ id: 'new', pk: 'p1' })
    expect(idsOf(await drain(feed))).toEqual(['new'])
  })

  test('CF-6 now is where an iterator begins that is told nothing', async () => {
    await fill()
    const feed = container.items.getChangeFeedIterator<Doc>({})
    expect((await feed.readNext()).statusCode).toBe(304)
    await container.items.create({ id: 'new', pk: 'p1' })
    expect(idsOf(await drain(feed))).toEqual(['new'])
  })

  test('CF-6 from a time: changes after that second, and the time does not hold up later pages', async () => {
    await fill()
    interop.clock.step(10_000)
    const time = new Date(interop.clock.wallMs() - 5000)
    await fill(container, 'late')
    const feed = start(ChangeFeedStartFrom.Time(time), 1)
    expect(sortedIds(await drain(feed))).toEqual([
      'late0',
      'late1',
      'late2',
      'late3',
      'late4',
      'late5',
    ])
    await container.items.create({ id: 'more', pk: 'p0' })
    expect(idsOf(await drain(feed))).toEqual(['more'])
  })

  test('from a time in the future: nothing for now', async () => {
    await fill()
    const time = new Date(interop.clock.wallMs() + 3_600_000)
    expect(await drain(start(ChangeFeedStartFrom.Time(time)))).toEqual([])
  })

  test('CF-8 from a continuation: what comes after it, also with another client', async () => {
    await fill()
    const feed = start(ChangeFeedStartFrom.Beginning(), 1)
    const first: Doc[] = []
    let continuationToken = ''
    for (let n = 0; n < 3; n++) {
      const page = await feed.readNext()
      first.push(...page.result)
      continuationToken = page.continuationToken
    }
    const other = interop.connect().database('interop').container(container.id)
    const rest = await drain(
      other.items.getChangeFeedIterator<Doc>({
        changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
      }),
    )
    expect(sortedIds([...first, ...rest])).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5'])
  })

  test('a continuation of a container that was made anew is refused', async () => {
    const { container: first } = await interop.database.containers.create({
      id: 'remade',
      partitionKey: '/pk',
    })
    const page = await first.items
      .getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() })
      .readNext()
    await first.delete()
    const { container: second } = await interop.database.containers.create({
      id: 'remade',
      partitionKey: '/pk',
    })
    const old = second.items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(page.continuationToken),
    })
    await expect(old.readNext()).rejects.toThrow()
  })

  test('CF-2 a document that changed twice comes once, in its newest version', async () => {
    await container.items.create({ id: 'a', pk: 'x', n: 1 })
    await container.items.upsert({ id: 'a', pk: 'x', n: 2 })
    await container.item('a', 'x').patch([{ op: 'incr', path: '/n', value: 1 }])
    expect(await drain(start(ChangeFeedStartFrom.Beginning()))).toMatchObject([{ id: 'a', n: 3 }])
  })

  test('a document that changes again comes again', async () => {
    await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const feed = start(ChangeFeedStartFrom.Beginning())
    expect(await drain(feed)).toHaveLength(1)
    for (const n of [2, 3]) {
      await container.items.upsert({ id: 'a', pk: 'x', n })
      expect(await drain(feed)).toMatchObject([{ id: 'a', n }])
    }
  })

  test('deletes leave no entry', async () => {
    await fill()
    await container.item('d1', 'p1').delete()
    expect(sortedIds(await drain(start(ChangeFeedStartFrom.Beginning())))).toEqual([
      'd0',
      'd2',
      'd3',
      'd4',
      'd5',
    ])
  })

  test('CF-7 pages have at most the number that was asked for', async () => {
    await fill()
    const feed = start(ChangeFeedStartFrom.Beginning(), 1)
    for (let n = 0; n < KEYS.length; n++) expect((await feed.readNext()).count).toBe(1)
    expect((await feed.readNext()).statusCode).toBe(304)
  })

  test('successive reads go round the ranges', async () => {
    await fill()
    const feed = start(ChangeFeedStartFrom.Beginning(), 1)
    const ids = new Set<unknown>()
    for (let n = 0; n < 3; n++) {
      ids.add((await feed.readNext()).headers['x-ms-documentdb-partitionkeyrangeid'])
    }
    expect(ids.size).toBeGreaterThan(1)
  })

  test('hasMoreResults is always true, and a 304 has count 0 and a continuation', async () => {
    const feed = start(ChangeFeedStartFrom.Now())
    const page = await feed.readNext()
    expect(page).toMatchObject({ statusCode: 304, count: 0 })
    expect(page.continuationToken).toContain('"rid"')
    expect(feed.hasMoreResults).toBe(true)
  })

  test('a page has request charge, activity id, session token and diagnostics', async () => {
    await fill()
    const page = await start(ChangeFeedStartFrom.Beginning()).readNext()
    expect(page.requestCharge).toBeGreaterThan(0)
    expect(page.activityId).toMatch(/^[0-9a-f-]{36}$/)
    expect(page.sessionToken).toMatch(/^\d+:-1#\d+$/)
    expect(page.diagnostics).toBeDefined()
  })

  test('a document of the feed is as a read gives it, and has _lsn besides', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const [entry] = await drain(start(ChangeFeedStartFrom.Beginning()))
    const { _lsn, ...rest } = entry as Doc
    expect(_lsn).toBeTypeOf('number')
    expect(rest).toEqual(resource)
    expect(resource).not.toHaveProperty('_lsn')
  })

  test('the async iterator gives the same', async () => {
    await fill()
    const ids: string[] = []
    const iterator = start(ChangeFeedStartFrom.Beginning(), 2).getAsyncIterator()
    for await (const page of iterator) {
      if (page.statusCode === 304) break
      ids.push(...idsOf(page.result))
    }
    expect(ids.toSorted()).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5'])
  })

  test('ten readers at once do not disturb one another', async () => {
    await fill()
    const all = await Promise.all(
      Array.from({ length: 10 }, () => drain(start(ChangeFeedStartFrom.Beginning(), 2))),
    )
    for (const items of all) expect(items).toHaveLength(KEYS.length)
  })
})

describe('Change feed of a partition key', () => {
  beforeEach(async () => {
    container = await interop.container({ throughput: 25_100 })
    await fill()
    await container.items.create({ id: 'second', pk: 'p1' })
  })

  test('CF-3 from the beginning, in the order of writing', async () => {
    expect(idsOf(await drain(start(ChangeFeedStartFrom.Beginning('p1'), 1)))).toEqual([
      'd1',
      'second',
    ])
  })

  test('from now', async () => {
    const feed = start(ChangeFeedStartFrom.Now('p1'))
    expect((await feed.readNext()).statusCode).toBe(304)
    await container.items.create({ id: 'third', pk: 'p1' })
    await container.items.create({ id: 'other', pk: 'p2' })
    expect(idsOf(await drain(feed))).toEqual(['third'])
  })

  test('from a time', async () => {
    interop.clock.step(10_000)
    const time = new Date(interop.clock.wallMs() - 5000)
    await container.items.create({ id: 'third', pk: 'p1' })
    expect(idsOf(await drain(start(ChangeFeedStartFrom.Time(time, 'p1'))))).toEqual(['third'])
  })

  test('from a continuation', async () => {
    const page = await start(ChangeFeedStartFrom.Beginning('p1'), 1).readNext()
    expect(idsOf(page.result)).toEqual(['d1'])
    const rest = await drain(start(ChangeFeedStartFrom.Continuation(page.continuationToken)))
    expect(idsOf(rest)).toEqual(['second'])
  })

  test('a value without documents', async () => {
    expect(await drain(start(ChangeFeedStartFrom.Beginning('none')))).toEqual([])
  })

  test('a hierarchical value, and a prefix of it', async () => {
    container = await interop.container({
      throughput: 20_000,
      partitionKey: { paths: ['/t', '/u'], version: 2, kind: 'MultiHash' as never },
    })
    for (const [t, u] of [
      ['1', 1],
      ['1', 2],
      ['2', 1],
    ] as const) {
      await container.items.create({ id: `${t}-${u}`, t, u })
    }
    const full = new PartitionKeyBuilder().addValue('1').addValue(2).build()
    expect(idsOf(await drain(start(ChangeFeedStartFrom.Beginning(full))))).toEqual(['1-2'])
    const prefix = new PartitionKeyBuilder().addValue('1').build()
    expect(sortedIds(await drain(start(ChangeFeedStartFrom.Beginning(prefix))))).toEqual([
      '1-1',
      '1-2',
    ])
  })

  test('goes on over a split', async () => {
    const feed = start(ChangeFeedStartFrom.Beginning('p1'), 1)
    expect(idsOf((await feed.readNext()).result)).toEqual(['d1'])
    for (const id of ['0', '1', '2']) await interop.split(container, id).catch(() => undefined)
    await container.items.create({ id: 'third', pk: 'p1' })
    expect(idsOf(await drain(feed))).toEqual(['second', 'third'])
  })
})

describe('Change feed of a feed range', () => {
  let ranges: readonly FeedRange[]
  beforeEach(async () => {
    container = await interop.container({ throughput: 20_000 })
    ranges = await container.getFeedRanges()
    await fill()
  })

  test('CF-5 from the beginning: the ranges share the documents out', async () => {
    const parts = []
    for (const range of ranges) parts.push(await drain(start(ChangeFeedStartFrom.Beginning(range))))
    expect(parts).toHaveLength(2)
    for (const part of parts) expect(part.length).toBeGreaterThan(0)
    expect(sortedIds(parts.flat())).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5'])
  })

  test('from now', async () => {
    const feeds = ranges.map((range) => start(ChangeFeedStartFrom.Now(range)))
    for (const feed of feeds) expect(await drain(feed)).toEqual([])
    await container.items.create({ id: 'new', pk: 'p1' })
    const found = [await drain(feeds[0]!), await drain(feeds[1]!)].map(({ length }) => length)
    expect(Math.min(...found)).toBe(0)
    expect(Math.max(...found)).toBe(1)
  })

  test('from a time', async () => {
    interop.clock.step(10_000)
    const time = new Date(interop.clock.wallMs() - 5000)
    await fill(container, 'late')
    const found: Doc[] = []
    for (const range of ranges) {
      found.push(...(await drain(start(ChangeFeedStartFrom.Time(time, range)))))
    }
    expect(sortedIds(found)).toEqual(['late0', 'late1', 'late2', 'late3', 'late4', 'late5'])
  })

  test('from a continuation', async () => {
    const feed = start(ChangeFeedStartFrom.Beginning(ranges[0]), 1)
    const first = await feed.readNext()
    const rest = await drain(start(ChangeFeedStartFrom.Continuation(first.continuationToken)))
    const all = await drain(start(ChangeFeedStartFrom.Beginning(ranges[0])))
    expect(idsOf([...first.result, ...rest])).toEqual(idsOf(all))
  })

  test('ST-9 a range that splits meanwhile: nothing is lost, nothing comes twice', async () => {
    const feed = start(ChangeFeedStartFrom.Beginning(ranges[0]), 1)
    const first = await feed.readNext()
    const expected = await drain(start(ChangeFeedStartFrom.Beginning(ranges[0])))
    await interop.split(container, '0')
    const rest = await drain(feed)
    expect(sortedIds([...first.result, ...rest])).toEqual(sortedIds(expected))
  })

  test('ranges of hash version 1, and one that spans several of them', async () => {
    const partitionKey = { paths: ['/name'], version: 1 }
    container = await interop.container({ partitionKey, throughput: 21_000 })
    const names = ['sample1', 'sample2', 'sample3', 'sample4']
    for (const name of names) {
      for (let n = 0; n < 3; n++) await container.items.create({ id: `${name}-${n}`, name })
    }
    const sizes: number[] = []
    for (const range of await container.getFeedRanges()) {
      sizes.push((await drain(start(ChangeFeedStartFrom.Beginning(range)))).length)
    }
    expect(sizes).toEqual([3, 3, 6])
    // The client takes objects of its own class only, and does not export it.
    const ClientRange = ranges[0]?.constructor as new (min: string, max: string) => FeedRange
    const lowerHalf = new ClientRange('', '05C1DFFFFFFFF8')
    const found = await drain(start(ChangeFeedStartFrom.Beginning(lowerHalf), 1))
    expect(found).toHaveLength(6)
  })

  test('a range narrower than a pkrange', async () => {
    const half = '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'
    const { documents: low } = await read({
      'x-ms-read-key-type': 'EffectivePartitionKeyRange',
      'x-ms-start-epk': '',
      'x-ms-end-epk': '10000000000000000000000000000000',
    })
    const { documents: high } = await read({
      'x-ms-read-key-type': 'EffectivePartitionKeyRange',
      'x-ms-start-epk': '10000000000000000000000000000000',
      'x-ms-end-epk': half,
    })
    const { documents: whole } = await read()
    expect(sortedIds([...low, ...high])).toEqual(sortedIds(whole))
  })
})

describe('Change feed and splits', () => {
  test('ST-9 a container that splits twice while it is read: each change once', async () => {
    container = await interop.container()
    for (let n = 0; n < 30; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    const feed = start(ChangeFeedStartFrom.Beginning(), 4)
    const seen: Doc[] = [...(await feed.readNext()).result]
    await interop.split(container, '0')
    seen.push(...(await feed.readNext()).result)
    const [child] = (await container.readPartitionKeyRanges().fetchAll()).resources
    await interop.split(container, child?.id ?? '')
    await container.items.create({ id: 'late', pk: 'p3' })
    seen.push(...(await drain(feed)))
    expect(seen).toHaveLength(31)
    expect(new Set(idsOf(seen)).size).toBe(31)
  })

  test('CF-8 a continuation from before a split is good after it', async () => {
    container = await interop.container()
    for (let n = 0; n < 10; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    const feed = start(ChangeFeedStartFrom.Beginning())
    await drain(feed)
    const { continuationToken } = await feed.readNext()
    await interop.split(container, '0')
    for (let n = 0; n < 6; n++) await container.items.create({ id: `new${n}`, pk: `p${n}` })
    const other = interop.connect().database('interop').container(container.id)
    const rest = other.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
    })
    expect(sortedIds(await drain(rest))).toEqual(['new0', 'new1', 'new2', 'new3', 'new4', 'new5'])
  })

  test("ST-9 children keep the documents' LSNs and count on from the parent's", async () => {
    container = await interop.container()
    for (let n = 0; n < 10; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    const before = new Map((await read()).documents.map(({ id, _lsn }) => [id, _lsn]))
    await interop.split(container, '0')
    const ranges = (await container.readPartitionKeyRanges().fetchAll()).resources
    for (const { id } of ranges) {
      for (const document of (await read({}, id)).documents) {
        expect(document._lsn).toBe(before.get(document.id))
      }
    }
    await container.items.create({ id: 'new', pk: 'p1' })
    const after = await drain(start(ChangeFeedStartFrom.Beginning('p1')))
    expect(after.at(-1)?._lsn).toBe(11)
  })
})

describe('Change feed on the wire', () => {
  beforeEach(async () => {
    container = await interop.container()
    for (const id of ['a', 'b', 'c']) await container.items.create({ id, pk: id })
  })

  test('200 has documents in LSN order, etag of the last one, and no continuation header', async () => {
    const { status, documents, etag, headers } = await read({ 'x-ms-max-item-count': '2' })
    expect(status).toBe(200)
    expect(idsOf(documents)).toEqual(['a', 'b'])
    expect(etag).toBe(`"${documents[1]?._lsn}"`)
    expect(headers.get('x-ms-continuation')).toBeNull()
    expect(headers.get('x-ms-item-count')).toBe('2')
    expect(headers.get('x-ms-documentdb-partitionkeyrangeid')).toBe('0')
  })

  // source: ChangeFeedEstimatorIterator of azure-cosmos-dotnet-v3 takes the first `_lsn` of a page from its session token.
  test('a page that ends early names the newest LSN of its range in session token and lsn', async () => {
    const newest = (await read()).documents.at(-1)?._lsn
    const first = await read({ 'x-ms-max-item-count': '1' })
    expect(first.documents[0]?._lsn).toBeLessThan(newest ?? 0)
    expect(first.etag).toBe(`"${first.documents[0]?._lsn}"`)
    expect(first.headers.get('x-ms-session-token')).toBe(`0:-1#${newest}`)
    expect(first.headers.get('lsn')).toBe(String(newest))
    const none = await read({ 'if-none-match': `"${newest}"` })
    expect(none.headers.get('x-ms-session-token')).toBe(`0:-1#${newest}`)
    expect(none.headers.get('lsn')).toBe(String(newest))
  })

  // The pull model of the .NET client reads the count of every answer (ChangeFeedPage in NetworkAttachedDocumentContainer.cs).
  test('304 has no body, a count of 0 and the newest position as etag', async () => {
    const { etag } = await read()
    const { status, text, headers, etag: again } = await read({ 'if-none-match': etag })
    expect([status, text, again]).toEqual([304, '', etag])
    expect(headers.get('x-ms-item-count')).toBe('0')
  })

  test('304 of a slice without changes moves on with the range', async () => {
    const slice = {
      'x-ms-read-key-type': 'EffectivePartitionKeyRange',
      'x-ms-start-epk': '3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF0',
      'x-ms-end-epk': '3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF',
    }
    const { status, etag } = await read(slice)
    expect([status, etag]).toEqual([304, (await read()).etag])
  })

  test('If-None-Match * is now: 304 with the position to go on from', async () => {
    const { status, etag } = await read({ 'if-none-match': '*' })
    expect([status, etag]).toEqual([304, (await read()).etag])
  })

  test('If-None-Match wins over If-Modified-Since', async () => {
    const { etag } = await read()
    const { status } = await read({
      'if-none-match': etag,
      'if-modified-since': new Date(0).toUTCString(),
    })
    expect(status).toBe(304)
  })

  test('If-Modified-Since of long ago is everything', async () => {
    const { documents } = await read({ 'if-modified-since': new Date(0).toUTCString() })
    expect(documents).toHaveLength(3)
  })

  test.each(['nonsense', '"abc"', '"-1"', 'W/"x"', '"99999999999999999999"'])(
    'If-None-Match %s is 400',
    async (etag) => {
      expect((await read({ 'if-none-match': etag })).status).toBe(400)
    },
  )

  test('an If-Modified-Since that is no date is 400', async () => {
    expect((await read({ 'if-modified-since': 'yesterday' })).status).toBe(400)
  })

  test('A-IM in another case is the same', async () => {
    const { documents } = await read({ 'a-im': 'incremental feed' })
    expect(documents).toHaveLength(3)
  })

  test('a range header with the container in front is understood', async () => {
    const { resource } = await container.read()
    const { _rid } = resource as unknown as { _rid: string }
    expect((await read({}, `${_rid},0`)).documents).toHaveLength(3)
  })

  test('one EPK header without the other is 400', async () => {
    expect((await read({ 'x-ms-start-epk': '10' })).status).toBe(400)
  })

  test('a range header that does not hold the partition key is 410', async () => {
    await interop.split(container, '0')
    const ids = (await container.readPartitionKeyRanges().fetchAll()).resources.map(({ id }) => id)
    const statuses = []
    for (const id of ids) {
      statuses.push((await read({ 'x-ms-documentdb-partitionkey': '["a"]' }, id)).status)
    }
    expect(new Set(statuses)).toEqual(new Set([200, 410]))
  })
})

// "List (ReadFeed) Documents" of the REST API asks for no range, and test_query_change_feed.py of the Python client reads a
// container of several ranges without one. What the etag looks like nobody says; clients give it back as it is.
describe('Change feed without the name of a range', () => {
  interface FeedAnswer {
    readonly status: number
    readonly etag: string
    readonly ids: readonly string[]
    readonly headers: Headers
  }

  async function get(
    one: Container,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<FeedAnswer> {
    const path = `${pathOf(one)}/docs`
    const answer = await interop.send({
      path,
      headers: { 'a-im': 'Incremental Feed', 'x-ms-max-item-count': '3', ...headers },
    })
    const documents = (answer.json?.['Documents'] ?? []) as readonly { id: string }[]
    const { status, headers: answered } = answer
    return {
      status,
      etag: answered.get('etag') ?? '',
      ids: documents.map(({ id }) => id),
      headers: answered,
    }
  }

  /** Reads on until a 304. */
  async function drainFrom(
    one: Container,
    etag?: string,
  ): Promise<{ ids: string[]; etag: string }> {
    const ids: string[] = []
    let at = etag
    for (;;) {
      const page = await get(one, at === undefined ? {} : { 'if-none-match': at })
      at = page.etag
      expect(page.headers.get('x-ms-item-count')).toBe(String(page.ids.length))
      if (page.status === 304) return { ids: ids.toSorted(), etag: at }
      expect(page.status).toBe(200)
      ids.push(...page.ids)
    }
  }

  async function filled(throughput: number): Promise<{ one: Container; all: string[] }> {
    const one = await interop.container({ throughput })
    const all = Array.from({ length: 20 }, (_, n) => `d${String(n).padStart(2, '0')}`)
    for (const id of all) await one.items.create({ id, pk: id })
    return { one, all }
  }

  test('reads all ranges in turn, each change once, and then what is new', async () => {
    const { one, all } = await filled(30_000)
    const first = await get(one)
    expect(first.ids).toHaveLength(3)
    const second = await get(one, { 'if-none-match': first.etag })
    const rangeOf = ({ headers }: FeedAnswer) => headers.get('x-ms-documentdb-partitionkeyrangeid')
    expect(rangeOf(second)).not.toBe(rangeOf(first))
    const { ids, etag } = await drainFrom(one)
    expect(ids).toEqual(all)
    const idle = await get(one, { 'if-none-match': etag })
    expect([idle.status, idle.headers.get('x-ms-session-token')?.split(',').length]).toEqual([
      304, 3,
    ])
    await one.items.upsert({ id: 'd07', pk: 'd07', again: true })
    expect((await drainFrom(one, etag)).ids).toEqual(['d07'])
  })

  test('from now and from a time: of all ranges, also of those that were not read at first', async () => {
    const { one } = await filled(30_000)
    const now = await get(one, { 'if-none-match': '*' })
    expect(now.status).toBe(304)
    for (const id of ['n1', 'n2', 'n3', 'n4', 'n5']) await one.items.create({ id, pk: id })
    expect((await drainFrom(one, now.etag)).ids).toEqual(['n1', 'n2', 'n3', 'n4', 'n5'])
    const ago = { 'if-modified-since': new Date(Date.now() - 3_600_000).toUTCString() }
    expect((await get(one, ago)).status).toBe(200)
  })

  test('ST-9 goes on over a split, from one range and from several', async () => {
    for (const throughput of [400, 20_000]) {
      const { one, all } = await filled(throughput)
      const first = await get(one)
      await interop.split(one, '0')
      const rest = await drainFrom(one, first.etag)
      expect([...first.ids, ...rest.ids].toSorted()).toEqual(all)
    }
  })

  test('a range that was read so is read on by its name, and a position of one range needs it', async () => {
    const { one, all } = await filled(20_000)
    const { etag } = await drainFrom(one)
    const range = { 'x-ms-documentdb-partitionkeyrangeid': '1' }
    expect((await get(one, { ...range, 'if-none-match': etag })).status).toBe(304)
    const named = await get(one, range)
    expect(all).toEqual(expect.arrayContaining([...named.ids]))
    const refused = await interop.send({
      path: `${pathOf(one)}/docs`,
      headers: { 'a-im': 'Incremental Feed', 'if-none-match': named.etag },
    })
    expect(refused.status).toBe(400)
    expect(refused.json?.['message']).toContain('x-ms-documentdb-partitionkeyrangeid')
  })

  test.each(['"0:1"', '"0:1,1:"', '"0:99999999,1:99999999"'])(
    'an etag %s that does not fit the ranges is 400',
    async (etag) => {
      const { one } = await filled(20_000)
      expect((await get(one, { 'if-none-match': etag })).status).toBe(400)
    },
  )

  test('CF-11 all versions and deletes too, from now on', async () => {
    const changeFeedPolicy = { retentionDuration: 10 }
    const one = await interop.container({ throughput: 20_000, changeFeedPolicy })
    const read = (etag: string) =>
      interop.send({
        path: `${pathOf(one)}/docs`,
        headers: { 'a-im': 'Full-Fidelity Feed', 'if-none-match': etag },
      })
    let etag = (await read('*')).headers.get('etag') ?? ''
    for (const id of ['v1', 'v2', 'v3', 'v4']) await one.items.create({ id, pk: id })
    await one.item('v2', 'v2').delete()
    const types: string[] = []
    for (;;) {
      const { status, headers, json } = await read(etag)
      etag = headers.get('etag') ?? ''
      if (status === 304) break
      const changes = json?.['Documents'] as { metadata: { operationType: string } }[]
      types.push(...changes.map(({ metadata }) => metadata.operationType))
    }
    expect(types.filter((type) => type === 'create')).toHaveLength(4)
    expect(types.filter((type) => type === 'delete')).toHaveLength(1)
  })

  test('a read that waits needs the name of a range', async () => {
    const { one } = await filled(20_000)
    expect((await get(one, { 'x-tidemark-wait-ms': '100' })).status).toBe(400)
  })
})

describe('The older items.changeFeed', () => {
  beforeAll(async () => {
    container = await interop.container({ throughput: 20_000 })
    await fill()
    await container.items.create({ id: 'second', pk: 'p1' })
  })

  test('reads one partition key from the beginning, and ends at the first 304', async () => {
    const feed = container.items.changeFeed<Doc>('p1', {
      startFromBeginning: true,
      maxItemCount: 1,
    })
    const ids: string[] = []
    while (feed.hasMoreResults) {
      const page = await feed.fetchNext()
      ids.push(...idsOf((page.result as readonly Doc[] | undefined) ?? []))
    }
    expect(ids).toEqual(['d1', 'second'])
  })

  test('begins now unless told otherwise', async () => {
    const feed = container.items.changeFeed<Doc>('p2', {})
    expect((await feed.fetchNext()).result ?? []).toHaveLength(0)
    await container.items.upsert({ id: 'd2', pk: 'p2', n: 20 })
    expect((await feed.fetchNext()).result).toMatchObject([{ id: 'd2', n: 20 }])
  })

  test('goes on from the continuation of a page', async () => {
    const options = { startFromBeginning: true, maxItemCount: 1 }
    const first = await container.items.changeFeed<Doc>('p1', options).fetchNext()
    const { continuation } = first
    const rest = await container.items.changeFeed<Doc>('p1', { continuation }).fetchNext()
    expect(idsOf(rest.result)).toEqual(['second'])
  })

  test('a start time', async () => {
    interop.clock.step(10_000)
    const startTime = new Date(interop.clock.wallMs() - 5000)
    await container.items.create({ id: 'late', pk: 'p1' })
    const page = await container.items.changeFeed<Doc>('p1', { startTime }).fetchNext()
    expect(idsOf(page.result)).toEqual(['late'])
  })

  test('an unknown continuation is refused', async () => {
    const feed = container.items.changeFeed('p1', { continuation: 'nonsense' })
    expect((await refusal(feed.fetchNext())).code).toBe(400)
  })
})
