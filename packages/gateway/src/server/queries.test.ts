import { expect, test } from 'vitest'
import { testGateway } from './running-gateway.fixture.ts'

async function withDocuments(throughput: number) {
  const started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', throughput })
  for (let n = 0; n < 30; n++) {
    await container.items.create({ id: `d${n}`, pk: `p${n % 10}`, n, even: n % 2 === 0 })
  }
  return { ...started, container }
}

test.each([400, 30_000])('queries over all ranges are whole answers (%d RU/s)', async (ru) => {
  await using started = await withDocuments(ru)
  const { items } = started.container
  const all = async (query: string) => (await items.query<unknown>(query).fetchAll()).resources
  expect(await all('SELECT VALUE COUNT(1) FROM c')).toEqual([30])
  expect(await all('SELECT VALUE c.n FROM c WHERE c.even = true ORDER BY c.n DESC')).toEqual(
    Array.from({ length: 15 }, (_, n) => 28 - 2 * n),
  )
  expect(await all('SELECT TOP 3 c.id FROM c ORDER BY c.n')).toEqual([
    { id: 'd0' },
    { id: 'd1' },
    { id: 'd2' },
  ])
  expect(await all('SELECT DISTINCT VALUE c.pk FROM c')).toHaveLength(10)
  expect(await items.readAll().fetchAll()).toMatchObject({ resources: { length: 30 } })
  const planned = items.query('SELECT VALUE COUNT(1) FROM c', { forceQueryPlan: true })
  expect((await planned.fetchAll()).resources).toEqual([30])
})

test('pages of a query go on where they ended', async () => {
  await using started = await withDocuments(30_000)
  const ids: string[] = []
  let continuationToken: string | undefined
  do {
    const query = started.container.items.query<{ id: string }>(
      { query: 'SELECT * FROM c WHERE c.n >= @n', parameters: [{ name: '@n', value: 3 }] },
      { maxItemCount: 4, ...(continuationToken !== undefined && { continuationToken }) },
    )
    const page = await query.fetchNext()
    ids.push(...(page.resources ?? []).map(({ id }) => id))
    continuationToken = page.continuationToken
  } while (continuationToken !== undefined)
  expect(new Set(ids).size).toBe(27)
  expect(ids).toHaveLength(27)
})

test('a query of one partition key value sees that one only, by option and by condition', async () => {
  await using started = await withDocuments(20_000)
  const { items } = started.container
  const byOption = await items.query('SELECT * FROM c', { partitionKey: 'p3' }).fetchAll()
  const byCondition = await items.query('SELECT * FROM c WHERE c.pk = "p3"').fetchAll()
  expect(byOption.resources).toHaveLength(3)
  expect(byCondition.resources).toEqual(byOption.resources)
})

test('what is not supported is a 400 that names it', async () => {
  await using started = await withDocuments(400)
  const query = started.container.items.query('SELECT * FROM c WHERE udf.mine(c.n)')
  await expect(query.fetchAll()).rejects.toMatchObject({ code: 400 })
  const broken = started.container.items.query('SELEKT * FROM c')
  await expect(broken.fetchAll()).rejects.toMatchObject({ code: 400 })
})

test('a patch with a condition happens only where it holds', async () => {
  await using started = await withDocuments(400)
  const item = started.container.item('d3', 'p3')
  const operations = [{ op: 'set' as const, path: '/seen', value: true }]
  const refused = item.patch({ condition: 'from c where c.n = 4', operations })
  await expect(refused).rejects.toMatchObject({ code: 412 })
  const { resource } = await item.patch({ condition: 'from c where c.n = 3', operations })
  expect(resource).toMatchObject({ seen: true })
})

test('a patch whose etag fits and whose condition does not hold is 412: alone, in a batch and in bulk', async () => {
  await using started = await withDocuments(400)
  const { items } = started.container
  const item = started.container.item('d3', 'p3')
  const { etag } = await item.read()
  const operations = [{ op: 'set' as const, path: '/seen', value: true }]
  const patch = { condition: 'from c where c.n = 4', operations }
  const accessCondition = { type: 'IfMatch', condition: etag }
  await expect(item.patch(patch, { accessCondition })).rejects.toMatchObject({ code: 412 })
  const operation = {
    operationType: 'Patch',
    id: 'd3',
    ifMatch: etag,
    resourceBody: patch,
  } as const
  const batch = await items.batch([operation], 'p3')
  expect(batch.result?.map(({ statusCode }) => statusCode)).toEqual([412])
  const [bulk] = await items.executeBulkOperations([{ ...operation, partitionKey: 'p3' }])
  expect(bulk?.error?.code).toBe(412)
  expect((await item.read()).resource).not.toHaveProperty('seen')
})

test('lists of databases and containers can be queried', async () => {
  await using started = await testGateway()
  await started.container({ id: 'one', partitionKey: '/pk' })
  await started.container({ id: 'two', partitionKey: '/pk' })
  const { containers } = started.client.database('db')
  const { resources } = await containers
    .query({
      query: 'SELECT * FROM root r WHERE r.id=@id',
      parameters: [{ name: '@id', value: 'two' }],
    })
    .fetchAll()
  expect(resources).toMatchObject([{ id: 'two' }])
  expect((await started.client.databases.readAll().fetchAll()).resources).toMatchObject([
    { id: 'db' },
  ])
})
