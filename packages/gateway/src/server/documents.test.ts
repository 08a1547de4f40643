import { expect, test } from 'vitest'
import { testGateway } from './running-gateway.fixture.ts'

test('a patch whose etag fits and whose condition does not hold is 412: alone, in a batch and in bulk', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const { items } = container
  await items.create({ id: 'd3', pk: 'p3', n: 3 })
  const item = container.item('d3', 'p3')
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
