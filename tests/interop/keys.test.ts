import { ChangeFeedStartFrom, type Container, type PartitionKey } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drain, openInterop, pathOf, sortedIds, type Interop } from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

interface Doc {
  readonly id: string
  readonly n?: number
}

const IDS = [
  'WithSpace ',
  ' leading',
  'with space inside',
  'ümläut-€-😀',
  '中文',
  '%2F',
  '100%',
  'a%20b',
  'a+b',
  'a&b=c',
  'semi;colon',
  'quo"te',
  "apo'strophe",
  'br[a]ck{et}s',
  'p|pe^caret`tick',
  '<tag>',
  'comma,colon:at@dollar$',
  '(paren)!*~.-_',
  '...',
  'i'.repeat(255),
  '0',
  'null',
]

describe('Ids', () => {
  let container: Container
  beforeAll(async () => {
    container = await interop.container()
  })

  test.each(IDS)('id %j is created, read, replaced, patched and deleted', async (id) => {
    expect((await container.items.create({ id, pk: 'x', n: 1 })).statusCode).toBe(201)
    const query = {
      query: 'SELECT * FROM c WHERE c.id = @id',
      parameters: [{ name: '@id', value: id }],
    }
    expect((await container.items.query<Doc>(query).fetchAll()).resources).toMatchObject([{ id }])
    const item = container.item(id, 'x')
    expect((await item.read<Doc>()).resource?.id).toBe(id)
    expect((await item.replace<Doc>({ id, n: 2, pk: 'x' } as Doc)).resource?.n).toBe(2)
    expect((await item.patch<Doc>([{ op: 'incr', path: '/n', value: 1 }])).resource?.n).toBe(3)
    expect((await item.delete()).statusCode).toBe(204)
    expect((await item.read()).statusCode).toBe(404)
  })

  // A URL with such a segment is taken for another path before it is sent: nobody could read them.
  test.each(['.', '..'])('id %j is 400', async (id) => {
    await expect(container.items.create({ id, pk: 'x' })).rejects.toMatchObject({ code: 400 })
  })
})

// The .NET client's CosmosItemIdEncodingTestsBase (IdWithDisallowedCharQuestionMark) has the service create, read, replace
// and delete such a document. @azure/cosmos leaves `?` unescaped in paths, so that only others can address it.
describe('Ids with a question mark', () => {
  test('are created and listed by the client, and addressed by others as %3F', async () => {
    const container = await interop.container()
    expect((await container.items.create({ id: 'a?b', pk: 'x', n: 1 })).statusCode).toBe(201)
    await container.items.create({ id: 'a', pk: 'x', n: 7 })
    expect(sortedIds((await container.items.readAll<Doc>().fetchAll()).resources)).toEqual([
      'a',
      'a?b',
    ])
    const path = `${pathOf(container)}/docs/a%3Fb`
    const headers = { 'x-ms-documentdb-partitionkey': '["x"]' }
    expect(await interop.send({ path, headers })).toMatchObject({ status: 200, json: { n: 1 } })
    const body = { id: 'a?b', pk: 'x', n: 2 }
    const replaced = await interop.send({ method: 'PUT', path, headers, body })
    expect(replaced).toMatchObject({ status: 200, json: { n: 2 } })
    expect((await interop.send({ method: 'DELETE', path, headers })).status).toBe(204)
    expect((await container.item('a', 'x').read<Doc>()).resource?.n).toBe(7)
  })

  test('are for documents only: databases and containers with one are 400', async () => {
    for (const path of ['dbs', 'dbs/interop/colls']) {
      const body = { id: 'a?b', partitionKey: { paths: ['/pk'], kind: 'Hash' } }
      expect((await interop.send({ method: 'POST', path, body })).status).toBe(400)
    }
  })
})

const VALUES: readonly (readonly [name: string, value: unknown])[] = [
  ['a text', 'text'],
  ['the empty text', ''],
  ['text that is no ASCII', 'ü€😀中'],
  ['text of 100 characters', 'a'.repeat(100)],
  ['text of 1,000 characters', 'b'.repeat(1000)],
  ['text with quotes and controls', '"\\\n\t\u0001'],
  ['zero', 0],
  ['a whole number', 5],
  ['a negative number', -123],
  ['a fraction', 0.1],
  ['a large number', 1e21],
  ['the greatest safe integer', Number.MAX_SAFE_INTEGER],
  ['true', true],
  ['false', false],
  ['null', null],
  ['no value at all', undefined],
]

describe.each([
  ['hash version 1', undefined],
  ['hash version 2', 2],
] as const)('Partition keys of %s', (_, version) => {
  let container: Container
  beforeAll(async () => {
    container = await interop.container({
      throughput: 20_000,
      partitionKey: { paths: ['/pk'], ...(version !== undefined && { version }) },
    })
  })

  test.each(VALUES)(
    '%s: point operations, batch, bulk, query and feed agree',
    async (_name, pk) => {
      const key = pk as PartitionKey
      await container.items.create({ id: 'a', pk })
      expect((await container.item('a', key).read()).statusCode).toBe(200)
      const batch = await container.items.batch(
        [{ operationType: 'Upsert', resourceBody: { id: 'b', pk } as never }],
        pk === undefined ? undefined : key,
      )
      expect(batch.result?.map(({ statusCode }) => statusCode)).toEqual([201])
      const bulk = await container.items.bulk([
        { operationType: 'Create', resourceBody: { id: 'c', pk } as never },
      ])
      expect(bulk.map(({ statusCode }) => statusCode)).toEqual([201])
      const { resources } = await container.items
        .query<Doc>('SELECT * FROM c', pk === undefined ? {} : { partitionKey: key })
        .fetchAll()
      if (pk !== undefined) expect(sortedIds(resources)).toEqual(['a', 'b', 'c'])
      for (const id of ['a', 'b', 'c']) {
        expect((await container.item(id, key).delete()).statusCode).toBe(204)
      }
    },
  )

  test('types never mix: "1", 1, true, null and none are five partitions', async () => {
    const values = ['1', 1, true, null, undefined]
    for (const [n, pk] of values.entries()) await container.items.create({ id: 'same', pk, n })
    for (const [n, pk] of values.entries()) {
      const { resource } = await container.item('same', pk as PartitionKey).read<Doc>()
      expect(resource?.n).toBe(n)
    }
  })

  test('an object or an array counts as no value', async () => {
    await container.items.create({ id: 'object', pk: { a: 1 } })
    await container.items.create({ id: 'array', pk: [1] })
    expect((await container.item('object', undefined).read()).statusCode).toBe(200)
    expect((await container.item('array', undefined).read()).statusCode).toBe(200)
  })

  test('-0 is the key 0', async () => {
    await container.items.create({ id: 'zero', pk: -0 })
    expect((await container.item('zero', 0).read()).statusCode).toBe(200)
  })
})

describe('Partition keys of other kinds', () => {
  test('a nested path', async () => {
    const container = await interop.container({ partitionKey: { paths: ['/a/b/c'], version: 2 } })
    await container.items.create({ id: 'deep', a: { b: { c: 'x' } } })
    expect((await container.item('deep', 'x').read()).statusCode).toBe(200)
    await container.items.create({ id: 'short', a: { b: 1 } })
    expect((await container.item('short', undefined).read()).statusCode).toBe(200)
  })

  test('a path with quotes around a name that has a slash', async () => {
    const container = await interop.container({ partitionKey: { paths: ['/"a/b"'], version: 2 } })
    await container.items.create({ id: 'quoted', 'a/b': 'x' })
    expect((await container.item('quoted', 'x').read()).statusCode).toBe(200)
  })

  test('/id as partition key', async () => {
    const container = await interop.container({ partitionKey: '/id' })
    await container.items.create({ id: 'a' })
    expect((await container.item('a', 'a').read()).statusCode).toBe(200)
    expect((await container.item('a', 'a').delete()).statusCode).toBe(204)
  })

  test('a container without partition key: documents are read without a value', async () => {
    const { container } = await interop.database.containers.create({ id: 'without-key' })
    await container.items.create({ id: 'a' })
    await container.items.create({ id: 'b', _partitionKey: 'x' })
    expect((await container.item('a').read()).statusCode).toBe(200)
    expect((await container.item('a', undefined).read()).statusCode).toBe(200)
    expect((await container.item('b', 'x').read()).statusCode).toBe(200)
    expect((await container.item('a').replace({ id: 'a', n: 1 })).statusCode).toBe(200)
    expect((await container.item('a').delete()).statusCode).toBe(204)
  })

  test('the headers [] and [{}] both mean no value', async () => {
    const container = await interop.container({ partitionKey: '/pk' })
    await container.items.create({ id: 'a' })
    for (const value of ['[]', '[{}]']) {
      const headers = { 'x-ms-documentdb-partitionkey': value }
      const path = `${pathOf(container)}/docs/a`
      expect((await interop.send({ path, headers })).status).toBe(200)
    }
  })

  test('text in the header may be escaped or not', async () => {
    const container = await interop.container()
    await container.items.create({ id: 'a', pk: 'é' })
    const headers = { 'x-ms-documentdb-partitionkey': '["\\u00e9"]' }
    expect((await interop.send({ path: `${pathOf(container)}/docs/a`, headers })).status).toBe(200)
  })
})

describe('Hierarchical partition keys', () => {
  let container: Container
  beforeAll(async () => {
    container = await interop.container({
      throughput: 25_100,
      partitionKey: { paths: ['/t', '/u', '/s'], version: 2, kind: 'MultiHash' as never },
    })
    for (const t of ['t1', 't2']) {
      for (const u of ['u1', 'u2']) {
        for (const s of ['s1', 's2']) {
          await container.items.create({ id: `${t}-${u}-${s}`, t, u, s })
        }
      }
    }
  })

  test('point operations take the full value', async () => {
    const item = container.item('t1-u1-s1', ['t1', 'u1', 's1'])
    expect((await item.read()).statusCode).toBe(200)
    expect((await container.item('t1-u1-s1', ['t1', 'u1', 's2']).read()).statusCode).toBe(404)
  })

  test('values of all types and missing ones', async () => {
    const documents = [
      { id: 'numbers', t: 1, u: 2.5, s: -3 },
      { id: 'truth', t: true, u: false, s: null },
      { id: 'missing', t: 'x' },
      { id: 'objects', t: {}, u: {}, s: 's' },
    ]
    for (const document of documents) await container.items.create(document)
    const keys: PartitionKey[] = [
      [1, 2.5, -3],
      [true, false, null],
      ['x', {}, {}],
      [{}, {}, 's'],
    ]
    for (const [index, { id }] of documents.entries()) {
      const item = container.item(id, keys[index])
      expect((await item.read()).statusCode).toBe(200)
      expect((await item.delete()).statusCode).toBe(204)
    }
  })

  test('a query with a prefix reads what lies below it', async () => {
    const idsOfPrefix = async (partitionKey: PartitionKey) => {
      const query = container.items.query<Doc>('SELECT * FROM c', { partitionKey })
      return sortedIds((await query.fetchAll()).resources)
    }
    expect(await idsOfPrefix(['t1'])).toHaveLength(4)
    expect(await idsOfPrefix(['t1', 'u2'])).toEqual(['t1-u2-s1', 't1-u2-s2'])
    expect(await idsOfPrefix(['t1', 'u2', 's2'])).toEqual(['t1-u2-s2'])
    expect(await idsOfPrefix(['none'])).toEqual([])
  })

  test('bulk with values of all types, missing ones, and one that does not fit', async () => {
    const response = await container.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'b1', t: 5, u: 'x', s: true } },
      { operationType: 'Create', resourceBody: { id: 'b2', t: null as never, u: 0 } },
      {
        operationType: 'Upsert',
        partitionKey: ['U', 'V', 5],
        resourceBody: { t: 'U', u: 'V', s: 5 },
      },
      { operationType: 'Read', id: 'b1', partitionKey: [5, 'x', true] },
      { operationType: 'Read', id: 'b2', partitionKey: [null, 0, {}] },
      {
        operationType: 'Create',
        partitionKey: ['A', 'V', true],
        resourceBody: { id: 'b3', t: 'A', u: 'B', s: true },
      },
      { operationType: 'Delete', id: 'b2', partitionKey: [null, 0, {}] },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([
      201, 201, 201, 200, 200, 400, 204,
    ])
  })

  test('a hierarchical definition of one path: point operations, bulk and feed', async () => {
    const single = await interop.container({
      throughput: 21_000,
      partitionKey: { paths: ['/name'], version: 2, kind: 'MultiHash' as never },
    })
    await single.items.create({ id: 'a', name: 'x' })
    const response = await single.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'b', name: 'x' } },
      { operationType: 'Create', resourceBody: { id: 'c', name: 'y' } },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 201])
    expect((await single.item('b', 'x').read()).statusCode).toBe(200)
    const feed = single.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning('x'),
    })
    expect(sortedIds(await drain(feed))).toEqual(['a', 'b'])
    const whole = single.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    })
    expect(sortedIds(await drain(whole))).toEqual(['a', 'b', 'c'])
  })

  test('a point operation with a prefix is 400', async () => {
    const headers = { 'x-ms-documentdb-partitionkey': '["t1"]' }
    const path = `${pathOf(container)}/docs/t1-u1-s1`
    expect((await interop.send({ path, headers })).status).toBe(400)
  })

  test('a batch takes the full value', async () => {
    const { code, result } = await container.items.batch(
      [{ operationType: 'Create', resourceBody: { id: 'new', t: 't1', u: 'u1', s: 's1' } }],
      ['t1', 'u1', 's1'],
    )
    expect([code, result?.[0]?.statusCode]).toEqual([200, 201])
    await container.item('new', ['t1', 'u1', 's1']).delete()
  })
})
