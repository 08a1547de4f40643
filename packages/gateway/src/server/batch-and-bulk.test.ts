import { BulkOperationType, type OperationInput } from '@azure/cosmos'
import { expect, test } from 'vitest'
import { testGateway } from './running-gateway.fixture.ts'

test('ST-4 a batch commits as one: one LSN, and the codes of single operations', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'old', pk: 'x', n: 1 })
  const answer = await container.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } },
      { operationType: 'Upsert', resourceBody: { id: 'b', pk: 'x' } },
      { operationType: 'Upsert', resourceBody: { id: 'b', pk: 'x', again: true } },
      { operationType: 'Read', id: 'old' },
      {
        operationType: 'Patch',
        id: 'old',
        resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
      },
      { operationType: 'Delete', id: 'a' },
    ],
    'x',
  )
  expect(answer.code).toBe(200)
  expect(answer.result?.map(({ statusCode }) => statusCode)).toEqual([201, 201, 200, 200, 200, 204])
  expect(answer.result?.[4]?.resourceBody).toMatchObject({ n: 2 })
  const b = await container.item('b', 'x').read()
  const old = await container.item('old', 'x').read()
  expect(b.headers['lsn']).toBe(old.headers['lsn'])
  expect(b.etag).toBe(answer.result?.[2]?.eTag)
})

test('ST-4 one operation fails: it keeps its code, the others are 424, nothing is kept', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'there', pk: 'x' })
  const answer = await container.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } },
      { operationType: 'Create', resourceBody: { id: 'there', pk: 'x' } },
      { operationType: 'Delete', id: 'there' },
    ],
    'x',
  )
  expect(answer.code).toBe(207)
  expect(answer.result?.map(({ statusCode }) => statusCode)).toEqual([424, 409, 424])
  expect((await container.item('a', 'x').read()).statusCode).toBe(404)
})

test.each([
  ['V1', { paths: ['/pk'] }],
  ['V2', { paths: ['/pk'], version: 2 }],
  ['hierarchical', { paths: ['/pk', '/sub'], kind: 'MultiHash', version: 2 }],
])('bulk over several ranges writes every document (%s)', async (_name, partitionKey) => {
  await using started = await testGateway()
  const container = await started.container({
    id: 'c',
    partitionKey: partitionKey as never,
    throughput: 35_000,
  })
  expect(await container.getFeedRanges()).toHaveLength(4)
  const isTree = partitionKey.paths.length > 1
  const operations: OperationInput[] = Array.from({ length: 250 }, (_, n) => ({
    operationType: BulkOperationType.Create,
    partitionKey: isTree ? [`p${n % 50}`, n % 3] : `p${n % 50}`,
    resourceBody: { id: `d${n}`, pk: `p${n % 50}`, sub: n % 3 },
  }))
  const results = await container.items.executeBulkOperations(operations)
  expect(results.map(({ response }) => response?.statusCode)).toEqual(Array(250).fill(201))
  expect(await started.store.database('db').collection('c').count()).toBe(250)
  expect(started.failures).toEqual([])
})

test('bulk tells each operation its own outcome, in order', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const results = await container.items.executeBulkOperations([
    { operationType: 'Create', partitionKey: 'x', resourceBody: { id: 'a', pk: 'x' } },
    { operationType: 'Create', partitionKey: 'x', resourceBody: { id: 'a', pk: 'x' } },
    { operationType: 'Read', id: 'a', partitionKey: 'x' },
    { operationType: 'Delete', id: 'none', partitionKey: 'x' },
  ])
  const codes = results.map(({ response, error }) => response?.statusCode ?? error?.code)
  expect(codes).toEqual([201, 409, 200, 404])
})

test('Prefer: return=minimal leaves documents out of writes, not of reads', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const { result } = await container.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } },
      { operationType: 'Read', id: 'a' },
    ],
    'x',
    { contentResponseOnWriteEnabled: false },
  )
  expect(result?.[0]?.resourceBody).toBeUndefined()
  expect(result?.[1]?.resourceBody).toMatchObject({ id: 'a' })
})

test('unique keys hold inside one partition key value, for every kind of write', async () => {
  await using started = await testGateway()
  const container = await started.container({
    id: 'c',
    partitionKey: '/pk',
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail', '/deep/n'] }] },
  })
  const { items } = container
  await items.create({ id: 'a', pk: 'x', mail: 'm', deep: { n: 1 } })
  await items.create({ id: 'a', pk: 'y', mail: 'm', deep: { n: 1 } })
  await items.create({ id: 'b', pk: 'x', mail: 'm', deep: { n: 2 } })
  const twin = { id: 'c', pk: 'x', mail: 'm', deep: { n: 1 } }
  const b = container.item('b', 'x')
  const refused = [
    items.create(twin),
    items.upsert(twin),
    b.replace({ ...twin, id: 'b' }),
    b.patch([{ op: 'set', path: '/deep/n', value: 1 }]),
  ]
  for (const outcome of await Promise.allSettled(refused)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 409 } })
  }
  const batch = await items.batch(
    [
      { operationType: 'Delete', id: 'b' },
      { operationType: 'Create', resourceBody: twin },
    ],
    'x',
  )
  expect(batch.result?.map(({ statusCode }) => statusCode)).toEqual([424, 409])
  const many = await Promise.allSettled(
    Array.from({ length: 5 }, (_, n) => items.create({ id: `n${n}`, pk: 'x', mail: 'new' })),
  )
  expect(many.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect((await b.replace({ id: 'b', pk: 'x', mail: 'm', deep: { n: 3 } })).statusCode).toBe(200)
})
