import { CosmosDocumentCollection, openChangeFeed } from '@tidemark/gateway/client'
import {
  ChangeFeedProcessorHost,
  DocumentDeadLetters,
  DocumentLeaseStore,
} from '@tidemark/processor'
import { expect, test } from 'vitest'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'

interface Order {
  readonly id: string
  readonly customerId: string
}

test('PH-7 a document that cannot be processed becomes a letter over HTTP, and comes again when it is sent back', async () => {
  await using under = await gatewayUnderTest()
  const database = under.store.database('shop')
  const orders = await database.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customerId',
  })
  await database.createCollectionIfNotExists({ id: 'letters', partitionKey: '/partitionKey' })
  for (let n = 0; n < 30; n++) await orders.create({ id: `o${n}`, customerId: 'c1' })
  const connection = under.connect()
  const collection = (container: string) =>
    new CosmosDocumentCollection(connection, { database: 'shop', container })
  const letters = new DocumentDeadLetters(collection('letters'), { redriveCacheMs: 50 })
  const host = new ChangeFeedProcessorHost<Order>({
    hostName: 'w1',
    group: 'mirror',
    feed: await openChangeFeed<Order>(connection, { database: 'shop', container: 'orders' }),
    leases: new DocumentLeaseStore(collection('leases')),
    feedOptions: { startFromBeginning: true },
    deadLetters: letters,
    hostOptions: {
      failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
      retryDelayMs: 1,
      redrivePollMs: 50,
    },
  })
  const done: string[] = []
  let isMended = false
  await host.registerObserver({
    processChanges: (_context, changes) => {
      if (!isMended && changes.some(({ id }) => id === 'o13')) throw new Error('not this one')
      done.push(...changes.map(({ id }) => id))
    },
  })
  await expect.poll(() => done.length).toBe(29)
  await expect.poll(async () => (await letters.list({ group: 'mirror' })).letters.length).toBe(1)
  isMended = true
  const [letter] = (await letters.list({ group: 'mirror' })).letters
  await letters.redrive({ group: 'mirror', letters: [letter?.id ?? ''] })
  await expect.poll(() => done).toContain('o13')
  await expect.poll(async () => (await letters.list({ group: 'mirror' })).letters).toEqual([])
  await host.unregisterObservers()
  expect(under.failures).toEqual([])
})
