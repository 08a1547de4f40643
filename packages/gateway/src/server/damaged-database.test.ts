import { StoreDamagedError } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import { openMemoryEngine } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { testGateway } from './running-gateway.fixture.ts'

test('a damaged database is a 500 for itself, and the others are listed, read and scaled', async () => {
  const engine = openMemoryEngine()
  {
    const store = await Store.open({ engine, maintenance: 'manual' })
    await using before = await testGateway({ store })
    for (const id of ['bad', 'good']) {
      const { database } = await before.client.databases.create({ id })
      await database.containers.create({ id: 'orders', partitionKey: '/pk' })
    }
  }
  const open = engine.openDatabase.bind(engine)
  // As the engine on files does when the file of one database is damaged.
  engine.openDatabase = async (id) => {
    if (id === 'bad') throw new StoreDamagedError(`the file of ${id} is damaged`)
    return open(id)
  }
  const store = await Store.open({ engine, maintenance: 'manual' })
  await using served = await testGateway({ store })
  const { client } = served
  const { resources } = await client.databases.readAll().fetchAll()
  expect(resources.map(({ id }) => id)).toEqual(['bad', 'good'])
  const orders = client.database('good').container('orders')
  await orders.items.create({ id: 'one', pk: 'p' })
  expect((await orders.item('one', 'p').read()).statusCode).toBe(200)
  expect((await client.offers.readAll().fetchAll()).resources).toHaveLength(1)
  expect((await orders.readOffer()).statusCode).toBe(200)
  await expect(client.database('bad').container('orders').read()).rejects.toMatchObject({
    code: 500,
  })
  expect(served.failures).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }) }),
  ])
})
