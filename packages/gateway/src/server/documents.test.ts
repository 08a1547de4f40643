import { expect, test } from 'vitest'
import { testGateway } from './running-gateway.fixture.ts'

test('ST-3 replace, patch and delete go by etag: 412 when another was faster', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const { etag } = await container.items.create({ id: 'a', pk: 1, n: 1 })
  const accessCondition = { type: 'IfMatch', condition: etag }
  const item = container.item('a', 1)
  const replaced = await item.replace({ id: 'a', pk: 1, n: 2 }, { accessCondition })
  expect([replaced.statusCode, replaced.resource?.['n']]).toEqual([200, 2])
  const late = [
    item.replace({ id: 'a', pk: 1, n: 3 }, { accessCondition }),
    item.patch([{ op: 'incr', path: '/n', value: 1 }], { accessCondition }),
    item.delete({ accessCondition }),
    container.items.upsert({ id: 'a', pk: 1, n: 4 }, { accessCondition }),
  ]
  for (const outcome of await Promise.allSettled(late)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 412 } })
  }
  expect((await item.read()).resource).toMatchObject({ n: 2 })
  const unchanged = await item.read({
    accessCondition: { type: 'IfNoneMatch', condition: replaced.etag },
  })
  expect(unchanged.statusCode).toBe(304)
  expect((await item.delete()).statusCode).toBe(204)
  await expect(item.delete()).rejects.toMatchObject({ code: 404 })
})

test.each([
  ['a string', 'x'],
  ['a number', 5],
  ['true', true],
  ['null', null],
  ['nothing', undefined],
])('a document of partition key %s is found again', async (_name, pk) => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', ...(pk !== undefined && { pk }) })
  expect((await container.item('a', pk).read()).statusCode).toBe(200)
  expect((await container.item('a', 'another').read()).statusCode).toBe(404)
})

test('hierarchical keys and containers made without a key hold documents', async () => {
  await using started = await testGateway()
  const tree = await started.container({
    id: 'tree',
    partitionKey: { paths: ['/t', '/u'], kind: 'MultiHash', version: 2 } as never,
  })
  await tree.items.create({ id: 'a', t: 'x', u: 1 })
  expect((await tree.item('a', ['x', 1]).read()).resource).toMatchObject({ u: 1 })
  const bare = await started.container({ id: 'bare' })
  await bare.items.create({ id: 'a', value: 1 })
  expect((await bare.item('a', undefined).read()).resource).toMatchObject({ value: 1 })
  expect(started.failures).toEqual([])
})

test('a partition key in the header that is not the document’s is 400 with substatus 1001', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x' })
  const wrong = container.item('a', 'x').replace({ id: 'a', pk: 'y' })
  await expect(wrong).rejects.toMatchObject({ code: 400, substatus: 1001 })
})

test('too large a document is 413, a bad id or ttl is 400, and nothing was written', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', defaultTtl: -1 })
  const { items } = container
  const huge = 'x'.repeat(2 * 1024 * 1024)
  await expect(items.create({ id: 'a', huge })).rejects.toMatchObject({ code: 413 })
  const body = 'y'.repeat(5 * 1024 * 1024)
  await expect(items.create({ id: 'a', body })).rejects.toMatchObject({ code: 413 })
  await expect(items.create({ id: 'a', ttl: 0 })).rejects.toMatchObject({ code: 400 })
  expect((await container.item('a', undefined).read()).statusCode).toBe(404)
})

test('a patch changes all or nothing, and not what it may not', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x', list: [1, 2], n: 1 })
  const item = container.item('a', 'x')
  const { resource } = await item.patch([
    { op: 'add', path: '/list/-', value: 3 },
    { op: 'remove', path: '/list/0' },
    { op: 'set', path: '/made', value: { deep: true } },
    { op: 'incr', path: '/n', value: 4 },
    { op: 'move', from: '/n', path: '/moved' } as never,
  ])
  expect(resource).toMatchObject({ list: [2, 3], made: { deep: true }, moved: 5 })
  expect(resource).not.toHaveProperty('n')
  for (const path of ['/id', '/pk', '/_etag', '/none/below']) {
    const refused = item.patch([
      { op: 'set', path: '/moved', value: 0 },
      { op: 'set', path, value: 'y' },
    ])
    await expect(refused).rejects.toMatchObject({ code: 400 })
  }
  expect((await item.read()).resource).toMatchObject({ moved: 5 })
})

test('a partition key’s documents are deleted at once, those of others stay', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  for (let n = 0; n < 130; n++) await container.items.create({ id: `d${n}`, pk: 'x' })
  await container.items.create({ id: 'other', pk: 'y' })
  const { statusCode } = await container.deleteAllItemsForPartitionKey('x')
  expect(statusCode).toBe(200)
  expect(await started.store.database('db').collection('c').count()).toBe(1)
})
