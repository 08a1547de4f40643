import { expect, test } from 'vitest'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

test('CF-12 what dies while a wait looks for what is there ends the wait', async () => {
  await using world = await SimulatedBroker.open()
  await world.broker.createQueue('q')
  await world.broker.createSender('q').sendMessages({ body: 'a' })
  const feed = world.broker.deadLetterFeed('q')
  const [range] = await feed.readFeedRanges()
  const { continuation } = await feed.resolveStart({ range: range!, start: 'now' })
  const receiver = world.broker.createReceiver('q')
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 0 })
  world.beforeAnswer = async (kind) => {
    if (kind !== 'peek') return
    world.beforeAnswer = undefined
    await receiver.deadLetterMessage(message!)
  }
  const { signal } = new AbortController()
  const waiting = feed.waitForChanges({ range: range!, continuation, timeoutMs: 60_000, signal })
  await world.pass(30_000)
  let isOver = false
  void waiting.then(() => (isOver = true))
  await world.settled()
  expect(isOver).toBe(true)
  expect(await waiting).toBe(true)
})
