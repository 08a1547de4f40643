import type { Container, OperationInput } from '@azure/cosmos'
import { ChangeFeedStartFrom } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { drain, openInterop, pathOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
})
beforeEach(async () => {
  container = await interop.container()
})
afterAll(() => interop.close())

const body = (id: string, more: object = {}) => ({ id, pk: 'x', ...more })
const create = (id: string): OperationInput => ({ operationType: 'Create', resourceBody: body(id) })

async function statuses(operations: OperationInput[]): Promise<(number | undefined)[]> {
  const { result } = await container.items.batch(operations, 'x')
  return (result ?? []).map(({ statusCode }) => statusCode)
}

describe('Transactional batch', () => {
  test('ST-4 create, upsert, read, replace, patch and delete in one request', async () => {
    await container.items.create(body('old'))
    const { code, result } = await container.items.batch(
      [
        { operationType: 'Create', resourceBody: body('a', { n: 1 }) },
        { operationType: 'Upsert', resourceBody: body('b', { n: 1 }) },
        { operationType: 'Upsert', resourceBody: body('old', { n: 2 }) },
        { operationType: 'Read', id: 'a' },
        { operationType: 'Replace', id: 'a', resourceBody: body('a', { n: 3 }) },
        { operationType: 'Patch', id: 'b', resourceBody: [{ op: 'incr', path: '/n', value: 4 }] },
        { operationType: 'Delete', id: 'old' },
      ],
      'x',
    )
    expect(code).toBe(200)
    expect(result?.map(({ statusCode }) => statusCode)).toEqual([201, 201, 200, 200, 200, 200, 204])
    expect(result?.map(({ resourceBody }) => resourceBody?.['n'])).toEqual([
      1,
      1,
      2,
      1,
      3,
      5,
      undefined,
    ])
  })

  test('each result has an etag and a request charge', async () => {
    const { result } = await container.items.batch([create('a')], 'x')
    expect(result?.[0]).toMatchObject({
      eTag: expect.stringMatching(/^"[^"]+"$/),
      requestCharge: expect.any(Number),
    })
    const { resource } = await container.item('a', 'x').read<{ id: string }>()
    expect(result?.[0]?.eTag).toBe(resource?._etag)
  })

  test('ST-4 the first failure keeps its code, all others are 424, and nothing stays', async () => {
    await container.items.create(body('there'))
    const { code, result } = await container.items.batch(
      [create('a'), create('there'), create('b')],
      'x',
    )
    expect(code).toBe(207)
    expect(result?.map(({ statusCode }) => statusCode)).toEqual([424, 409, 424])
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
    expect((await container.item('b', 'x').read()).statusCode).toBe(404)
  })

  test('CF-1 a batch that failed leaves no entry in the feed', async () => {
    await container.items.create(body('there'))
    await container.items.batch([create('a'), create('there')], 'x')
    const feed = container.items.getChangeFeedIterator<{ id: string }>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    })
    expect((await drain(feed)).map(({ id }) => id)).toEqual(['there'])
  })

  test('replace, read, patch and delete of what is not there are 404', async () => {
    const missing: OperationInput[] = [
      { operationType: 'Replace', id: 'none', resourceBody: body('none') },
      { operationType: 'Read', id: 'none' },
      { operationType: 'Patch', id: 'none', resourceBody: [{ op: 'set', path: '/n', value: 1 }] },
      { operationType: 'Delete', id: 'none' },
    ]
    for (const operation of missing) {
      expect(await statuses([create('a'), operation])).toEqual([424, 404])
    }
  })

  test('ifMatch with an old etag is 412', async () => {
    const { resource } = await container.items.create(body('there'))
    const replace = (ifMatch: string): OperationInput => ({
      operationType: 'Replace',
      id: 'there',
      ifMatch,
      resourceBody: body('there', { n: 2 }),
    })
    expect(await statuses([create('a'), replace('"old"')])).toEqual([424, 412])
    expect(await statuses([create('a'), replace(resource?._etag ?? '')])).toEqual([201, 200])
  })

  test('a bad patch inside a batch is 400 for that operation', async () => {
    await container.items.create(body('there'))
    const patch: OperationInput = {
      operationType: 'Patch',
      id: 'there',
      resourceBody: [{ op: 'remove', path: '/none' }],
    }
    expect(await statuses([create('a'), patch])).toEqual([424, 400])
  })

  test('a patch with a condition that is not met is 412', async () => {
    await container.items.create(body('there', { n: 1 }))
    const patch = (condition: string): OperationInput => ({
      operationType: 'Patch',
      id: 'there',
      resourceBody: { condition, operations: [{ op: 'incr', path: '/n', value: 1 }] },
    })
    expect(await statuses([patch('from c where c.n = 5')])).toEqual([412])
    expect(await statuses([patch('from c where c.n = 1')])).toEqual([200])
  })

  test('operations on one document see one another', async () => {
    expect(
      await statuses([
        create('a'),
        { operationType: 'Replace', id: 'a', resourceBody: body('a', { n: 2 }) },
        { operationType: 'Delete', id: 'a' },
        create('a'),
      ]),
    ).toEqual([201, 200, 204, 201])
  })

  test('an operation with another partition key than the request is 400 as a whole', async () => {
    const other: OperationInput = {
      operationType: 'Create',
      partitionKey: 'y',
      resourceBody: { id: 'b', pk: 'y' },
    }
    const error = await refusal(container.items.batch([create('a'), other], 'x'))
    expect(error.code).toBe(400)
    expect(error.message).toContain(
      'operations within the batch request have a different partition key value than the request.',
    )
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
  })

  test('a body with another partition key than the request fails, and nothing stays', async () => {
    const other: OperationInput = {
      operationType: 'Create',
      resourceBody: { id: 'b', pk: 'y' },
    }
    expect(await statuses([create('a'), other])).toEqual([424, 400])
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
    expect((await container.item('b', 'y').read()).statusCode).toBe(404)
  })

  test('100 operations are taken', async () => {
    const hundred = Array.from({ length: 100 }, (_, n) => create(`d${n}`))
    expect(await statuses(hundred)).toEqual(Array.from({ length: 100 }, () => 201))
  })

  test.each([
    ['101 operations', Array.from({ length: 101 }, (_, n) => create(`d${n}`))],
    ['no operation', []],
    ['an unknown operation type', [{ operationType: 'Merge', resourceBody: body('a') }]],
    ['a create without body', [{ operationType: 'Create' }]],
    ['a read without id', [{ operationType: 'Read' }]],
    ['an object in place of the list', { operationType: 'Read', id: 'a' }],
  ])('%s is 400 and writes nothing', async (_, operations) => {
    const { status } = await interop.send({
      method: 'POST',
      path: `${pathOf(container)}/docs`,
      headers: {
        'x-ms-cosmos-is-batch-request': 'true',
        'x-ms-cosmos-batch-atomic': 'true',
        'x-ms-documentdb-partitionkey': '["x"]',
      },
      body: operations,
    })
    expect(status).toBe(400)
    expect((await container.items.readAll().fetchAll()).resources).toEqual([])
  })

  test('a batch of more than 2 MiB is 413', async () => {
    const big = Array.from({ length: 5 }, (_, n) => ({
      operationType: 'Create' as const,
      resourceBody: body(`d${n}`, { text: 'x'.repeat(500_000) }),
    }))
    expect((await refusal(container.items.batch(big, 'x'))).code).toBe(413)
    expect((await container.items.readAll().fetchAll()).resources).toEqual([])
  })

  test('the client generates ids in a batch', async () => {
    const { result } = await container.items.batch(
      [{ operationType: 'Create', resourceBody: { pk: 'x' } }],
      'x',
    )
    expect(result?.[0]?.resourceBody?.['id']).toBeTypeOf('string')
  })

  test('contentResponseOnWriteEnabled false answers writes without documents, reads with them', async () => {
    await container.items.create(body('there'))
    const { result } = await container.items.batch(
      [create('a'), { operationType: 'Read', id: 'there' }],
      'x',
      { contentResponseOnWriteEnabled: false },
    )
    expect(result?.[0]).not.toHaveProperty('resourceBody')
    expect(result?.[0]).toHaveProperty('eTag')
    expect(result?.[1]?.resourceBody).toMatchObject({ id: 'there' })
  })

  test('CF-7 ST-5 all documents of a batch come on one page of the feed', async () => {
    await container.items.batch(
      Array.from({ length: 10 }, (_, n) => create(`d${n}`)),
      'x',
    )
    const feed = container.items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      maxItemCount: 3,
    })
    expect((await feed.readNext()).count).toBe(10)
  })

  test('a unique key holds inside a batch too', async () => {
    const unique = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    const { result } = await unique.items.batch(
      ['a', 'b'].map((id) => ({
        operationType: 'Create' as const,
        resourceBody: body(id, { mail: 'm' }),
      })),
      'x',
    )
    expect(result?.map(({ statusCode }) => statusCode)).toEqual([424, 409])
    expect((await unique.item('a', 'x').read()).statusCode).toBe(404)
  })

  test('of two batches that race for one document one wins', async () => {
    const results = await Promise.all(
      [1, 2, 3].map(() => container.items.batch([create('a')], 'x')),
    )
    const codes = results.map(({ result }) => String(result?.[0]?.statusCode)).toSorted()
    expect(codes).toEqual(['201', '409', '409'])
  })
})
