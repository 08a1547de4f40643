import type { Container, FeedOptions } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInterop, pagesOf, pathOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
const COUNT = 40

interface Doc {
  readonly id: string
  readonly n: number
  readonly kind: string
  readonly half: number
}

beforeAll(async () => {
  interop = await openInterop()
  const compositeIndexes = [
    [{ path: '/kind' }, { path: '/n', order: 'descending' }],
    [{ path: '/kind' }, { path: '/id' }],
    [{ path: '/deep/a' }, { path: '/n' }, { path: '/id' }],
  ]
  const indexingPolicy = { compositeIndexes } as never
  container = await interop.container({ throughput: 30_000, indexingPolicy })
  for (let n = 0; n < COUNT; n++) {
    const document = {
      id: `d${n}`,
      pk: `p${n}`,
      n,
      kind: n % 3 === 0 ? 'fizz' : 'other',
      half: n / 2,
    }
    await container.items.create(document)
  }
})
afterAll(() => interop.close())

const NUMBERS = Array.from({ length: COUNT }, (_, n) => n)

/** All pages of a query over all ranges. */
function run<T>(query: string, options: FeedOptions = {}): ReturnType<typeof pagesOf<T>> {
  return pagesOf(container.items.query<T>(query, options))
}

async function rows<T>(query: string, options: FeedOptions = {}): Promise<readonly T[]> {
  return (await run<T>(query, options)).items
}

describe('Queries: order', () => {
  test('ORDER BY goes across ranges', async () => {
    expect(await rows('SELECT VALUE c.n FROM c ORDER BY c.n')).toEqual(NUMBERS)
    expect(await rows('SELECT VALUE c.n FROM c ORDER BY c.n ASC')).toEqual(NUMBERS)
    expect(await rows('SELECT VALUE c.n FROM c ORDER BY c.n DESC')).toEqual(NUMBERS.toReversed())
  })

  test('ORDER BY in small pages', async () => {
    const { sizes, items } = await run('SELECT VALUE c.n FROM c ORDER BY c.n', { maxItemCount: 6 })
    expect(Math.max(...sizes)).toBeLessThanOrEqual(6)
    expect(items).toEqual(NUMBERS)
  })

  test('ORDER BY several expressions', async () => {
    const items = await rows<Doc>('SELECT * FROM c ORDER BY c.kind ASC, c.n DESC')
    const expected = [
      ...NUMBERS.filter((n) => n % 3 === 0).toReversed(),
      ...NUMBERS.filter((n) => n % 3 !== 0).toReversed(),
    ]
    expect(items.map(({ n }) => n)).toEqual(expected)
  })

  // Microsoft's "Indexing policies in Azure Cosmos DB", section Composite indexes, and TestBadOrderByQueriesAsync of the
  // .NET client, which has the message.
  test('ORDER BY several properties with a composite index of theirs, or with all directions reversed', async () => {
    for (const order of [
      'c.kind DESC, c.n',
      'c.deep.a, c.n, c.id',
      'c.deep.a DESC, c.n DESC, c.id DESC',
    ]) {
      expect(await rows(`SELECT c.id FROM c ORDER BY ${order}`)).toHaveLength(COUNT)
    }
  })

  test.each([
    'c.kind, c.n',
    'c.n DESC, c.kind',
    'c.deep.a, c.n',
    'c.kind, c.n DESC, c.id',
    'c.id, c.half',
    'c.kind, c.n + 1 DESC',
  ])('ORDER BY %s without a composite index of it is 400', async (order) => {
    const error = await refusal(run(`SELECT c.id FROM c ORDER BY ${order}`))
    expect(error.code).toBe(400)
    expect(error.message).toContain('does not have a corresponding composite index')
  })

  test('a composite index that a replace adds serves from then on', async () => {
    const one = await interop.container()
    await one.items.create({ id: 'a', pk: 'x' })
    const text = 'SELECT VALUE c.id FROM c ORDER BY c.lower, c.id'
    expect((await refusal(one.items.query(text).fetchAll())).code).toBe(400)
    const { resource } = await one.read()
    const compositeIndexes = [[{ path: '/lower' }, { path: '/id' }]]
    const indexingPolicy = { ...resource!.indexingPolicy, compositeIndexes }
    const computedProperties = [{ name: 'lower', query: 'SELECT VALUE LOWER(c.id) FROM c' }]
    await one.replace({ ...resource!, indexingPolicy, computedProperties } as never)
    expect((await one.items.query(text).fetchAll()).resources).toEqual(['a'])
  })

  test('ORDER BY a text, with a condition', async () => {
    const items = await rows<string>("SELECT VALUE c.id FROM c WHERE c.kind = 'fizz' ORDER BY c.id")
    expect(items).toEqual(items.toSorted())
    expect(items).toHaveLength(14)
  })

  test('ORDER BY _ts is the order of writing, in whole seconds', async () => {
    const stamps = await rows<number>('SELECT VALUE c._ts FROM c ORDER BY c._ts')
    expect(stamps).toEqual(stamps.toSorted((a, b) => a - b))
  })

  test('values of several types have the order null, false, true, numbers, texts', async () => {
    const mixed = await interop.container({ throughput: 20_000 })
    const values = ['b', 3, null, true, 'a', -1, false]
    for (const [n, v] of values.entries()) await mixed.items.create({ id: `${n}`, pk: `p${n}`, v })
    const query = mixed.items.query<unknown>('SELECT VALUE c.v FROM c ORDER BY c.v')
    expect((await query.fetchAll()).resources).toEqual([null, false, true, -1, 3, 'a', 'b'])
  })
})

describe('Queries: TOP and OFFSET LIMIT', () => {
  test('TOP counts over all ranges', async () => {
    expect(await rows('SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n')).toEqual([0, 1, 2, 3, 4])
    expect(await rows('SELECT TOP 7 * FROM c')).toHaveLength(7)
    expect(await rows('SELECT TOP 0 * FROM c')).toEqual([])
    expect(await rows('SELECT TOP 1000 * FROM c')).toHaveLength(COUNT)
  })

  test('TOP in small pages', async () => {
    const { sizes, items } = await run('SELECT TOP 10 VALUE c.n FROM c ORDER BY c.n DESC', {
      maxItemCount: 3,
    })
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3)
    expect(items).toEqual(NUMBERS.toReversed().slice(0, 10))
  })

  test('TOP takes a parameter', async () => {
    const query = { query: 'SELECT TOP @n * FROM c', parameters: [{ name: '@n', value: 4 }] }
    expect((await container.items.query(query).fetchAll()).resources).toHaveLength(4)
  })

  test('OFFSET LIMIT counts over all ranges', async () => {
    expect(await rows('SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 5')).toEqual([
      10, 11, 12, 13, 14,
    ])
    expect(await rows('SELECT * FROM c OFFSET 35 LIMIT 10')).toHaveLength(5)
    expect(await rows('SELECT * FROM c OFFSET 0 LIMIT 0')).toEqual([])
    expect(await rows('SELECT * FROM c OFFSET 100 LIMIT 10')).toEqual([])
  })

  test('OFFSET LIMIT in small pages', async () => {
    const { items } = await run('SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 12', {
      maxItemCount: 5,
    })
    expect(items).toEqual(NUMBERS.slice(5, 17))
  })
})

describe('Queries: aggregates', () => {
  test.each([
    ['COUNT(1)', COUNT],
    ['COUNT(c.n)', COUNT],
    ['COUNT(c.none)', 0],
    ['SUM(c.n)', 780],
    ['AVG(c.n)', 19.5],
    ['MIN(c.n)', 0],
    ['MAX(c.n)', 39],
    ['MAX(c.id)', 'd9'],
    ['MIN(c.half)', 0],
    ['SUM(c.half)', 390],
  ])('SELECT VALUE %s over all ranges is %j', async (aggregate, value) => {
    expect(await rows(`SELECT VALUE ${aggregate} FROM c`)).toEqual([value])
  })

  test('aggregates with a condition', async () => {
    expect(await rows("SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'fizz'")).toEqual([14])
    expect(await rows('SELECT VALUE COUNT(1) FROM c WHERE c.n > 1000')).toEqual([0])
    expect(await rows('SELECT VALUE SUM(c.n) FROM c WHERE c.n > 1000')).toEqual([0])
  })

  test('several aggregates in one row, with names', async () => {
    const query = 'SELECT COUNT(1) AS number, MAX(c.n) AS greatest, AVG(c.half) AS mean FROM c'
    expect(await rows(query)).toEqual([{ number: COUNT, greatest: 39, mean: 9.75 }])
  })

  test('SELECT COUNT(1) without a name is $1', async () => {
    expect(await rows('SELECT COUNT(1) FROM c')).toEqual([{ $1: COUNT }])
  })

  test('SUM and AVG of what is no number have no value', async () => {
    expect(await rows('SELECT VALUE SUM(c.id) FROM c')).toEqual([])
    expect(await rows('SELECT SUM(c.id) AS s, COUNT(1) AS n FROM c')).toEqual([{ n: COUNT }])
  })

  test.each([null, false, [], {}, 'text'])(
    'a value %j among numbers leaves SUM and AVG without a value, and a missing one does not',
    async (odd) => {
      const some = await interop.container({ throughput: 20_000 })
      for (const n of [1, 2]) await some.items.create({ id: `n${n}`, pk: `p${n}`, age: 22 })
      await some.items.create({ id: 'missing', pk: 'p3' })
      const sum = async (): Promise<unknown[]> => {
        const query = some.items.query<unknown>('SELECT VALUE SUM(c.age) FROM c')
        return (await query.fetchAll()).resources
      }
      expect(await sum()).toEqual([44])
      await some.items.create({ id: 'odd', pk: 'p4', age: odd })
      expect(await sum()).toEqual([])
      const mean = some.items.query<unknown>('SELECT AVG(c.age) AS mean FROM c')
      expect((await mean.fetchAll()).resources).toEqual([{}])
    },
  )

  test('MIN and MAX of nothing have no value, COUNT of nothing is 0', async () => {
    expect(await rows('SELECT VALUE MIN(c.n) FROM c WHERE false')).toEqual([])
    expect(await rows('SELECT VALUE MAX(c.none) FROM c')).toEqual([])
    expect(await rows('SELECT VALUE COUNT(1) FROM c WHERE false')).toEqual([0])
  })

  test('several aggregates without names are $1, $2', async () => {
    expect(await rows('SELECT COUNT(1), MAX(c.n) FROM c')).toEqual([{ $1: COUNT, $2: 39 }])
  })

  test('COUNT over SELECT DISTINCT counts different values, over all ranges', async () => {
    const text = 'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.kind FROM c)'
    expect(await rows(text)).toEqual([2])
    // The client does not say that it can count what it merges.
    const error = await refusal(run(text, { forceQueryPlan: true }))
    expect(error.code).toBe(400)
    expect(error.message).toContain('the calling client does not support DCount')
    const named = 'SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.n FROM c WHERE c.n < 10) AS x'
    expect(await rows(named)).toEqual([{ n: 10 }])
  })

  test('rows of a subquery in FROM are filtered and sorted like documents', async () => {
    const text =
      'SELECT VALUE x.n FROM (SELECT c.n FROM c WHERE c.n > 30) x WHERE x.n < 35 ORDER BY x.n'
    expect(await rows(text, { maxItemCount: 2 })).toEqual([31, 32, 33, 34])
  })

  test('an aggregate beside ORDER BY is one row', async () => {
    expect(await rows('SELECT VALUE SUM(c.n) FROM c ORDER BY c.n')).toEqual([780])
  })

  // AggregateQueryTests of the .NET client: MAKELIST, MAKESET and their baseline for values that are not there. Their order
  // is not promised.
  test('MAKELIST has every value over all ranges, MAKESET each one once', async () => {
    const [list] = await rows<number[]>('SELECT VALUE MAKELIST(c.n) FROM c')
    expect(list?.toSorted((a, b) => a - b)).toEqual(NUMBERS)
    const [set] = await rows<string[]>('SELECT VALUE MakeSet(c.kind) FROM c')
    expect(set?.toSorted()).toEqual(['fizz', 'other'])
    // With a plan it is the client that puts the lists together; one with objects would take them all for different.
    for (const options of [{}, { forceQueryPlan: true }]) {
      const [both] = await rows<{ l: number[]; s: unknown[]; n: number }>(
        'SELECT MAKELIST(c.n) AS l, MAKESET(c.kind) AS s, COUNT(1) AS n FROM c WHERE c.n < 4',
        options,
      )
      expect(both?.l.toSorted()).toEqual([0, 1, 2, 3])
      expect(both?.s).toHaveLength(2)
      expect(both?.n).toBe(4)
    }
    const [objects] = await rows<unknown[]>('SELECT VALUE MAKESET({k: c.kind}) FROM c')
    expect(objects).toHaveLength(2)
  })

  test('MAKELIST and MAKESET of nothing, and of what is not there, are empty', async () => {
    expect(await rows('SELECT VALUE MAKELIST(c.none) FROM c')).toEqual([[]])
    expect(await rows('SELECT VALUE MAKESET(c.n) FROM c WHERE false')).toEqual([[]])
    expect(await rows('SELECT MAKELIST(c.none) FROM c')).toEqual([{ $1: [] }])
  })

  test('in one partition', async () => {
    expect(await rows('SELECT VALUE COUNT(1) FROM c', { partitionKey: 'p3' })).toEqual([1])
  })
})

describe('Queries: GROUP BY and DISTINCT', () => {
  test('GROUP BY with aggregates, over all ranges', async () => {
    const query = 'SELECT c.kind, COUNT(1) AS number, SUM(c.n) AS total FROM c GROUP BY c.kind'
    const groups = await rows<{ kind: string }>(query)
    expect(groups.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
      { kind: 'fizz', number: 14, total: 273 },
      { kind: 'other', number: 26, total: 507 },
    ])
  })

  test('GROUP BY alone gives the values', async () => {
    const groups = await rows<string>('SELECT VALUE c.kind FROM c GROUP BY c.kind')
    expect(groups.toSorted()).toEqual(['fizz', 'other'])
  })

  test('GROUP BY an expression, and by two', async () => {
    const query =
      'SELECT c.n % 2 AS odd, c.kind, COUNT(1) AS number FROM c GROUP BY c.n % 2, c.kind'
    const groups = await rows<{ number: number }>(query)
    expect(groups).toHaveLength(4)
    expect(groups.reduce((sum, { number }) => sum + number, 0)).toBe(COUNT)
  })

  test('GROUP BY with aggregates of a property that is not there', async () => {
    const query =
      'SELECT c.kind, AVG(c.none) AS a, MIN(c.none) AS b, SUM(c.none) AS s, COUNT(c.none) AS n FROM c GROUP BY c.kind'
    const groups = await rows<{ kind: string }>(query)
    expect(groups.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
      { kind: 'fizz', s: 0, n: 0 },
      { kind: 'other', s: 0, n: 0 },
    ])
  })

  test('GROUP BY with MAKELIST and MAKESET, in small pages', async () => {
    const query =
      'SELECT c.kind, MAKELIST(c.n % 3) AS l, MAKESET(c.n % 3) AS s FROM c GROUP BY c.kind'
    const groups = await rows<{ kind: string; l: number[]; s: number[] }>(query, {
      maxItemCount: 1,
    })
    for (const { kind, l, s } of groups) {
      const [length, values] = kind === 'fizz' ? [14, [0]] : [26, [1, 2]]
      expect(l).toHaveLength(length)
      expect(new Set(s)).toEqual(new Set(values))
      expect(s).toHaveLength(values.length)
    }
    expect(groups).toHaveLength(2)
  })

  test('GROUP BY in small pages', async () => {
    const query = 'SELECT c.n % 10 AS digit, COUNT(1) AS number FROM c GROUP BY c.n % 10'
    const { sizes, items } = await run<{ digit: number; number: number }>(query, {
      maxItemCount: 3,
    })
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3)
    expect(new Set(items.map(({ digit }) => digit))).toEqual(new Set(NUMBERS.slice(0, 10)))
    expect(items).toHaveLength(10)
    expect(items.every(({ number }) => number === 4)).toBe(true)
  })

  test('DISTINCT over all ranges, of values and of rows', async () => {
    expect((await rows<string>('SELECT DISTINCT VALUE c.kind FROM c')).toSorted()).toEqual([
      'fizz',
      'other',
    ])
    expect(await rows('SELECT DISTINCT c.kind FROM c')).toHaveLength(2)
  })

  test('DISTINCT with ORDER BY, in small pages', async () => {
    const query = 'SELECT DISTINCT VALUE c.kind FROM c ORDER BY c.kind DESC'
    expect(await rows(query, { maxItemCount: 1 })).toEqual(['other', 'fizz'])
  })
})

describe('Queries: paging', () => {
  test('pages have at most the size that was asked for, and each document comes once', async () => {
    const { sizes, items } = await run<Doc>('SELECT * FROM c WHERE c.n >= 0', { maxItemCount: 7 })
    expect(Math.max(...sizes)).toBeLessThanOrEqual(7)
    expect(items.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(NUMBERS)
  })

  test('a continuation token goes on in another iterator, and another client', async () => {
    for (const query of ['SELECT * FROM c WHERE c.n >= 0', 'SELECT * FROM c ORDER BY c.n']) {
      const first = await container.items.query<Doc>(query, { maxItemCount: 15 }).fetchNext()
      expect(first.continuationToken).toBeTypeOf('string')
      const { continuationToken } = first
      const other = interop.connect().database('interop').container(container.id)
      const rest = await pagesOf(other.items.query<Doc>(query, { continuationToken }))
      const all = [...first.resources, ...rest.items].map(({ n }) => n)
      expect(all.toSorted((a, b) => a - b)).toEqual(NUMBERS)
    }
  })

  test('continuation tokens stay below 1 KiB', async () => {
    const query = container.items.query('SELECT * FROM c ORDER BY c.kind, c.id', {
      maxItemCount: 5,
    })
    const { continuationToken } = await query.fetchNext()
    expect(continuationToken.length).toBeLessThanOrEqual(1024)
  })

  test('fetchAll, the async iterator and fetchNext agree', async () => {
    const query = 'SELECT * FROM c ORDER BY c.n'
    const all = (await container.items.query<Doc>(query).fetchAll()).resources
    const iterated: Doc[] = []
    const iterator = container.items.query<Doc>(query, { maxItemCount: 9 }).getAsyncIterator()
    for await (const { resources } of iterator) iterated.push(...resources)
    expect(iterated).toEqual(all)
    expect((await run<Doc>(query, { maxItemCount: 11 })).items).toEqual(all)
  })

  test('pages go on over a split in between', async () => {
    const split = await interop.container()
    for (const n of NUMBERS) await split.items.create({ id: `d${n}`, pk: `p${n}`, n })
    const query = split.items.query<Doc>('SELECT * FROM c WHERE c.n >= 0', { maxItemCount: 10 })
    const first = (await query.fetchNext()).resources
    await interop.split(split, '0')
    const rest = (await pagesOf(query)).items
    const all = [...first, ...rest].map(({ n }) => n)
    expect(all.toSorted((a, b) => a - b)).toEqual(NUMBERS)
  })

  test('forceQueryPlan and enableQueryControl give the same rows', async () => {
    for (const options of [
      { forceQueryPlan: true },
      { enableQueryControl: true, forceQueryPlan: true },
    ]) {
      for (const query of [
        'SELECT VALUE c.n FROM c ORDER BY c.n',
        'SELECT VALUE c.n FROM c WHERE c.n >= 0',
      ]) {
        const { resources } = await container.items.query<number>(query, options).fetchAll()
        expect(resources.toSorted((a, b) => a - b)).toEqual(NUMBERS)
      }
      const count = container.items.query<number>('SELECT VALUE COUNT(1) FROM c', options)
      expect((await count.fetchAll()).resources).toEqual([COUNT])
    }
  })

  test('populateQueryMetrics tells what was looked at', async () => {
    const { queryMetrics } = await container.items
      .query('SELECT * FROM c WHERE c.n < 5', { populateQueryMetrics: true })
      .fetchNext()
    const [metrics] = Object.values(queryMetrics)
    expect(metrics).toMatchObject({ retrievedDocumentCount: 40, outputDocumentCount: 5 })
    const all = await container.items
      .query('SELECT * FROM c', { populateQueryMetrics: true, maxItemCount: 5 })
      .fetchNext()
    expect(all.queryMetrics).toBeDefined()
  })

  // The forms are those that the clients read: IndexMetricsInfo of the .NET client and FeedResponse of @azure/cosmos for the
  // newer one, IndexUtilizationInfo for the older.
  test('populateIndexMetrics tells that no index is used, in both forms', async () => {
    for (const query of ['SELECT * FROM c', 'SELECT * FROM c WHERE c.n < 5 ORDER BY c.n']) {
      const page = await container.items.query(query, { populateIndexMetrics: true }).fetchNext()
      const none = { SingleIndexes: [], CompositeIndexes: [] }
      expect(JSON.parse(page.indexMetrics)).toEqual({
        UtilizedIndexes: none,
        PotentialIndexes: none,
      })
      const answer = await interop.send({
        method: 'POST',
        path: `${pathOf(container)}/docs`,
        headers: {
          'content-type': 'application/query+json',
          'x-ms-documentdb-query-enablecrosspartition': 'true',
          'x-ms-cosmos-populateindexmetrics': 'True',
        },
        body: { query },
      })
      const older = answer.headers.get('x-ms-cosmos-index-utilization') ?? ''
      expect(JSON.parse(Buffer.from(older, 'base64').toString())).toMatchObject({
        UtilizedSingleIndexes: [],
      })
    }
    const plain = await container.items.query('SELECT * FROM c').fetchNext()
    expect(plain.indexMetrics).toBe('{}')
  })

  test('maxDegreeOfParallelism, bufferItems and scan options change nothing', async () => {
    const options = { maxDegreeOfParallelism: 3, bufferItems: true, enableScanInQuery: true }
    expect(await rows('SELECT VALUE c.n FROM c ORDER BY c.n', options)).toEqual(NUMBERS)
  })
})

// The REST API's "Query Documents" says of the header that it must be true for several partitions; crud_tests.py of the
// Python client, which leaves it out unless told otherwise, has the 400.
describe('Queries: cross-partition', () => {
  const post = (query: string, headers: Readonly<Record<string, string>> = {}) =>
    interop.send({
      method: 'POST',
      path: `${pathOf(container)}/docs`,
      headers: { 'content-type': 'application/query+json', ...headers },
      body: { query, parameters: [] },
    })
  const ENABLED = 'x-ms-documentdb-query-enablecrosspartition'

  test.each([
    'SELECT * FROM c',
    'SELECT c.id FROM c WHERE c.n > 3',
    'SELECT VALUE COUNT(1) FROM c',
    'SELECT * FROM c WHERE c.pk IN ("p1", "p2")',
  ])('%s over several ranges is 400 unless the header allows it', async (query) => {
    for (const headers of [{}, { [ENABLED]: 'false' }]) {
      const answer = await post(query, headers)
      expect(answer).toMatchObject({
        status: 400,
        json: {
          message: expect.stringContaining('Cross partition query is required but disabled'),
        },
      })
      expect(answer.headers.get('x-ms-substatus')).toBeNull()
    }
    expect((await post(query, { [ENABLED]: 'True' })).status).toBe(200)
  })

  test('what concerns one partition key value or one range needs no header', async () => {
    const key = { 'x-ms-documentdb-partitionkey': '["p3"]' }
    const range = { 'x-ms-documentdb-partitionkeyrangeid': '0' }
    for (const [query, headers] of [
      ['SELECT VALUE c.n FROM c WHERE c.pk = "p3"', {}],
      ['SELECT VALUE c.n FROM c', key],
      ['SELECT * FROM c', key],
      ['SELECT * FROM c', range],
    ] as const) {
      expect((await post(query, headers)).status).toBe(200)
    }
  })

  test('nor does a container of one range', async () => {
    const one = await interop.container()
    const answer = await interop.send({
      method: 'POST',
      path: `${pathOf(one)}/docs`,
      headers: { 'content-type': 'application/query+json' },
      body: { query: 'SELECT * FROM c' },
    })
    expect(answer.status).toBe(200)
  })
})
