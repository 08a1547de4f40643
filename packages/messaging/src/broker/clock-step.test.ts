import { SimulatedClock, openMemoryStore } from '@tidemark/testing'
import { expect, onTestFinished, test } from 'vitest'
import { openMessaging } from './message-broker.ts'

const MONTH_MS = 30 * 86_400_000

test('EXP-01 TTL-11 after the clock was set ahead for a moment, messages and documents expire as they would have', async () => {
  const clock = new SimulatedClock()
  const store = await openMemoryStore({ clock })
  const database = await store.createDatabaseIfNotExists('shop')
  const broker = openMessaging(database, { clock })
  onTestFinished(async () => {
    await broker.close()
    await store.close()
  })
  await broker.createQueue('q')
  const settings = { id: 'docs', partitionKey: '/id', defaultTtl: 2 }
  const documents = await database.createCollectionIfNotExists(settings)
  clock.jumpWall(MONTH_MS)
  await broker.createSender('q').sendMessages({ body: 'ahead' })
  clock.jumpWall(-MONTH_MS)
  await documents.create({ id: 'short' })
  await broker.createSender('q').sendMessages({ body: 'short', timeToLive: 2_000 })
  const inMs = async (ms: number): Promise<readonly unknown[]> => {
    await clock.advance(ms)
    const messages = await broker.createReceiver('q').peekMessages(9)
    const { documents: found } = await documents.readDocuments()
    const bodies = messages.filter(({ state }) => state === 'active').map(({ body }) => body)
    return [...bodies, ...found.map(({ id }) => `document ${id}`)]
  }
  expect(await inMs(900)).toEqual(['ahead', 'short', 'document short'])
  const receiver = broker.createReceiver('q', { receiveMode: 'receiveAndDelete' })
  await clock.advance(1_200)
  const received = await receiver.receiveMessages(9, { maxWaitTimeInMs: 0 })
  expect(received.map(({ body }) => body)).toEqual(['ahead'])
  expect(await inMs(0)).toEqual([])
})
