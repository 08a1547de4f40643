import type { Container, ContainerRequest, OperationInput } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, type Interop } from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

const KINDS: readonly (readonly [
  name: string,
  partitionKey: NonNullable<ContainerRequest['partitionKey']>,
  keyed: (value: string | number) => object,
  key: (value: string | number) => never,
])[] = [
  ['hash version 1', { paths: ['/pk'] }, (pk) => ({ pk }), (pk) => pk as never],
  ['hash version 2', { paths: ['/pk'], version: 2 }, (pk) => ({ pk }), (pk) => pk as never],
  [
    'a hierarchical key',
    { paths: ['/a', '/b'], version: 2, kind: 'MultiHash' as never },
    (pk) => ({ a: pk, b: 1 }),
    (pk) => [pk, 1] as never,
  ],
]

describe.each(KINDS)('Bulk over several ranges, %s', (_, partitionKey, keyed, key) => {
  let container: Container
  beforeAll(async () => {
    container = await interop.container({ partitionKey, throughput: 25_100 })
  })

  test('creates spread over all ranges, answered in order', async () => {
    const operations = Array.from({ length: 150 }, (_unused, n): OperationInput => {
      return { operationType: 'Create', resourceBody: { id: `d${n}`, ...keyed(`p${n}`) } as never }
    })
    const response = await container.items.bulk(operations)
    expect(response.map(({ statusCode }) => statusCode)).toEqual(operations.map(() => 201))
    expect(response.map(({ resourceBody }) => resourceBody?.['id'])).toEqual(
      operations.map((_unused, n) => `d${n}`),
    )
    const feeds = await container.getFeedRanges()
    expect(feeds).toHaveLength(3)
  })

  test('each kind of operation, over all ranges', async () => {
    for (const n of [1, 2, 3]) await container.items.upsert({ id: `k${n}`, ...keyed(n), n })
    const response = await container.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'new', ...keyed('new') } as never },
      { operationType: 'Upsert', resourceBody: { id: 'up', ...keyed('up') } as never },
      { operationType: 'Read', id: 'k1', partitionKey: key(1) },
      {
        operationType: 'Replace',
        id: 'k2',
        partitionKey: key(2),
        resourceBody: { id: 'k2', ...keyed(2), n: 5 } as never,
      },
      {
        operationType: 'Patch',
        id: 'k3',
        partitionKey: key(3),
        resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
      },
      { operationType: 'Delete', id: 'k1', partitionKey: key(1) },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 201, 200, 200, 200, 204])
    expect(response.map(({ resourceBody }) => resourceBody?.['n'])).toEqual([
      undefined,
      undefined,
      1,
      5,
      4,
      undefined,
    ])
  })

  test('executeBulkOperations does the same, with diagnostics and a session token', async () => {
    const operations = Array.from({ length: 120 }, (_unused, n): OperationInput => {
      const id = `e${n}`
      return {
        operationType: 'Upsert',
        partitionKey: key(id),
        resourceBody: { id, ...keyed(id) } as never,
      }
    })
    const results = await container.items.executeBulkOperations(operations)
    expect(results.map(({ response }) => response?.statusCode)).toEqual(operations.map(() => 201))
    expect(results[0]?.response?.activityId).toMatch(/^[0-9a-f-]{36}$/)
    expect(results[0]?.response?.requestCharge).toBeGreaterThan(0)
  })
})

describe('Bulk', () => {
  let container: Container
  beforeEach(async () => {
    container = await interop.container({ throughput: 20_000 })
  })

  const create = (id: string, pk: unknown): OperationInput => {
    return { operationType: 'Create', resourceBody: { id, pk } as never }
  }

  test('a failure is its own result, and the others go on', async () => {
    await container.items.create({ id: 'there', pk: 'x' })
    const response = await container.items.bulk([
      create('a', 'x'),
      create('there', 'x'),
      { operationType: 'Read', id: 'none', partitionKey: 'x' },
      {
        operationType: 'Replace',
        id: 'none',
        partitionKey: 'x',
        resourceBody: { id: 'none', pk: 'x' },
      },
      create('b', 'x'),
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 409, 404, 404, 201])
  })

  test('continueOnError false: what follows the first failure is 424', async () => {
    await container.items.create({ id: 'there', pk: 'x' })
    const response = await container.items.bulk(
      [create('a', 'x'), create('there', 'x'), create('b', 'x')],
      { continueOnError: false },
    )
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 409, 424])
    expect((await container.item('a', 'x').read()).statusCode).toBe(200)
    expect((await container.item('b', 'x').read()).statusCode).toBe(404)
  })

  test('operations on one document run in their order', async () => {
    const response = await container.items.bulk([
      create('a', 'x'),
      {
        operationType: 'Patch',
        id: 'a',
        partitionKey: 'x',
        resourceBody: { operations: [{ op: 'set', path: '/n', value: 1 }] },
      },
      { operationType: 'Read', id: 'a', partitionKey: 'x' },
      { operationType: 'Delete', id: 'a', partitionKey: 'x' },
      { operationType: 'Read', id: 'a', partitionKey: 'x' },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 200, 200, 204, 404])
  })

  test('every type of partition key value in one request', async () => {
    const values = ['text', '', 5, 0, -1.5, true, false, null]
    const response = await container.items.bulk(values.map((pk, n) => create(`d${n}`, pk)))
    expect(response.map(({ statusCode }) => statusCode)).toEqual(values.map(() => 201))
    const reads = await container.items.bulk(
      values.map((pk, n) => ({
        operationType: 'Read' as const,
        id: `d${n}`,
        partitionKey: pk as never,
      })),
    )
    expect(reads.map(({ resourceBody }) => resourceBody?.['pk'])).toEqual(values)
  })

  test('documents without a partition key value, created and read', async () => {
    const response = await container.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'none' } },
      { operationType: 'Read', id: 'none' },
      { operationType: 'Delete', id: 'none' },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 200, 204])
  })

  test('a container without partition key', async () => {
    const { container: plain } = await interop.database.containers.create({ id: 'bulk-plain' })
    const response = await plain.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'a', key: 'A' } },
      { operationType: 'Read', id: 'a' },
      { operationType: 'Delete', id: 'a' },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 200, 204])
  })

  test('conditions per operation', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const replace = (ifMatch: string): OperationInput => {
      return {
        operationType: 'Replace',
        id: 'a',
        partitionKey: 'x',
        ifMatch,
        resourceBody: { id: 'a', pk: 'x' },
      }
    }
    const response = await container.items.bulk([replace('"old"'), replace(resource?._etag ?? '')])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([412, 200])
  })

  test('a body with another partition key than the operation is 400 for that one', async () => {
    const response = await container.items.bulk([
      create('good', 'x'),
      { operationType: 'Upsert', partitionKey: 'x', resourceBody: { id: 'bad', pk: 'y' } },
    ])
    expect(response.map(({ statusCode }) => statusCode)).toEqual([201, 400])
  })

  test('large documents go in several requests', async () => {
    const text = 'x'.repeat(110_000)
    const operations = Array.from({ length: 20 }, (_, n): OperationInput => {
      return { operationType: 'Create', resourceBody: { id: `d${n}`, pk: 'x', text } }
    })
    const response = await container.items.bulk(operations)
    expect(response.map(({ statusCode }) => statusCode)).toEqual(operations.map(() => 201))
  })

  test('executeBulkOperations tells of an operation that is too large with 413, and of others', async () => {
    const large = { id: 'large', pk: 'x', text: 'x'.repeat(220_201 * 11) }
    const [small, refused] = await container.items.executeBulkOperations([
      { operationType: 'Create', partitionKey: 'x', resourceBody: { id: 'small', pk: 'x' } },
      { operationType: 'Create', partitionKey: 'x', resourceBody: large },
    ])
    expect(small?.response?.statusCode).toBe(201)
    expect(refused?.error?.code).toBe(413)
    expect(refused?.error?.message).toContain('Request size is too large')
  })

  test('executeBulkOperations reports 404 and 409 of single operations', async () => {
    await container.items.create({ id: 'there', pk: 'x' })
    const results = await container.items.executeBulkOperations([
      { operationType: 'Read', id: 'none', partitionKey: 'x' },
      { operationType: 'Create', partitionKey: 'x', resourceBody: { id: 'there', pk: 'x' } },
      { operationType: 'Delete', id: 'there', partitionKey: 'x' },
    ])
    expect(results.map(({ response, error }) => response?.statusCode ?? error?.code)).toEqual([
      404, 409, 204,
    ])
  })

  test('contentResponseOnWriteEnabled false answers without documents', async () => {
    const [result] = await container.items.executeBulkOperations(
      [{ operationType: 'Create', partitionKey: 'x', resourceBody: { id: 'a', pk: 'x' } }],
      { contentResponseOnWriteEnabled: false },
    )
    expect(result?.response?.statusCode).toBe(201)
    expect(result?.response?.resourceBody).toBeUndefined()
  })

  test('ST-9 both kinds of bulk go on after splits that the client has not seen', async () => {
    const documents = Array.from({ length: 40 }, (_, n) => ({ id: `d${n}`, pk: `p${n}` }))
    const upserts = documents.map((resourceBody): OperationInput => {
      return { operationType: 'Upsert', partitionKey: resourceBody.pk, resourceBody }
    })
    await container.items.bulk(upserts)
    await interop.split(container, '0')
    const second = await container.items.bulk(upserts)
    expect(second.map(({ statusCode }) => statusCode)).toEqual(documents.map(() => 200))
    await interop.split(container, '1')
    const third = await container.items.executeBulkOperations(upserts)
    expect(third.map(({ response }) => response?.statusCode)).toEqual(documents.map(() => 200))
  })

  test('keys of another range in one request are 410, and nothing is written', async () => {
    const send = (pk: string) =>
      interop.send({
        method: 'POST',
        path: `${pathOf(container)}/docs`,
        headers: {
          'x-ms-cosmos-is-batch-request': 'true',
          'x-ms-cosmos-batch-atomic': 'false',
          'x-ms-documentdb-partitionkeyrangeid': '0',
        },
        body: [
          {
            operationType: 'Create',
            partitionKey: JSON.stringify([pk]),
            resourceBody: { id: pk, pk },
          },
        ],
      })
    // The EPK of "A" lies below the middle, that of "a" above.
    expect((await send('A')).status).toBe(200)
    const other = await send('a')
    expect([other.status, other.headers.get('x-ms-substatus')]).toEqual([410, '1002'])
    // The range is still there.
    expect(other.json?.['message']).toContain('does not hold these keys')
    expect((await container.item('a', 'a').read()).statusCode).toBe(404)
  })
})
