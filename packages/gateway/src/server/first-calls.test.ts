import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos'
import { expect, test } from 'vitest'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

test('the real client makes a container, writes, reads and follows the feed', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c é', partitionKey: '/pk', throughput: 20_000 })
  const created = await container.items.create({ id: 'a b', pk: 'x', value: 1 })
  expect(created.statusCode).toBe(201)
  const read = await container.item('a b', 'x').read()
  expect(read.resource).toMatchObject({ id: 'a b', value: 1, _etag: created.etag })
  expect((await container.item('none', 'x').read()).statusCode).toBe(404)
  const ranges = await container.getFeedRanges()
  expect(ranges).toHaveLength(2)
  const feed = container.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  })
  const page = await feed.readNext()
  expect([page.statusCode, page.count]).toEqual([200, 1])
  expect((await feed.readNext()).statusCode).toBe(304)
  await container.items.upsert({ id: 'a b', pk: 'x', value: 2 })
  expect((await feed.readNext()).result).toMatchObject([{ id: 'a b', value: 2 }])
  expect(started.failures).toEqual([])
})

test('a wrong key is 401 and learns nothing', async () => {
  await using started = await testGateway()
  const key = Buffer.from('another key, of the same length.').toString('base64')
  const client = new CosmosClient({ endpoint: started.gateway.endpoint, key })
  const refused = client.databases.create({ id: 'db' })
  await expect(refused).rejects.toMatchObject({
    code: 401,
    message: expect.not.stringContaining(TEST_KEY),
  })
  expect(await started.store.listDatabases()).toEqual([])
})

test('two creates of one id: the second is 409 with a message and an activity id', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x' })
  const second = container.items.create({ id: 'a', pk: 'x' })
  await expect(second).rejects.toMatchObject({
    code: 409,
    activityId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
})
