import { once } from 'node:events'
import { expect, test } from 'vitest'
import { nextEvent, ServedBroker } from '../server/served-broker.fixture.ts'
import type { Receiver } from 'rhea'

async function served(count: number): Promise<ServedBroker> {
  const world = await ServedBroker.open()
  await world.broker.createQueue('q', { lockDuration: 'PT1M', maxDeliveryCount: 3 })
  await send(world, count)
  return world
}

async function send({ broker }: ServedBroker, count: number): Promise<void> {
  if (count === 0) return
  const bodies = Array.from({ length: count }, (_, body) => ({ body }))
  await broker.createSender('q').sendMessages(bodies)
}

/** Counts what comes, until it is read. */
function counted(receiver: Receiver): { count: number } {
  const seen = { count: 0 }
  receiver.on('message', () => (seen.count += 1))
  return seen
}

/** What was sent before has arrived: a later attach has its answer. */
async function flowArrived({ session }: Receiver): Promise<void> {
  await once(session.open_receiver('nowhere'), 'receiver_close')
}

test('a drain without credit left is answered, and the process goes on', async () => {
  await using world = await served(2)
  const receiver = await world.receiver('q')
  const seen = counted(receiver)
  const drained = once(receiver, 'receiver_drained')
  receiver.add_credit(2)
  await expect.poll(() => seen.count).toBe(2)
  receiver.drain_credit()
  await drained
  expect(seen.count).toBe(2)
})

test('SET-21 a drain delivers what there is, then is answered', async () => {
  await using world = await served(3)
  const receiver = await world.receiver('q')
  const seen = counted(receiver)
  const drained = once(receiver, 'receiver_drained')
  receiver.add_credit(10)
  receiver.drain_credit()
  await drained
  expect(seen.count).toBe(3)
})

test('after a drain the next credit counts', async () => {
  await using world = await served(0)
  const receiver = await world.receiver('q')
  const seen = counted(receiver)
  receiver.add_credit(5)
  receiver.drain_credit()
  await once(receiver, 'receiver_drained')
  await send(world, 3)
  Reflect.set(receiver, 'drain', false)
  receiver.add_credit(2)
  await expect.poll(() => seen.count).toBe(2)
  expect(
    await world.broker.createReceiver('q').receiveMessages(5, { maxWaitTimeInMs: 0 }),
  ).toHaveLength(1)
})

test('without credit nothing is locked', async () => {
  await using world = await served(2)
  await world.receiver('q')
  const other = world.broker.createReceiver('q')
  expect(await other.receiveMessages(5, { maxWaitTimeInMs: 0 })).toHaveLength(2)
})

test('messages for which the client has taken its credit back are given back, all of them', async () => {
  await using world = await served(0)
  const receiver = await world.receiver('q')
  const seen = counted(receiver)
  receiver.add_credit(3)
  await flowArrived(receiver)
  Reflect.set(receiver, 'credit', 0)
  receiver.add_credit(1)
  await flowArrived(receiver)
  await send(world, 3)
  await expect.poll(() => seen.count).toBe(1)
  const other = world.broker.createReceiver('q')
  const received = await other.receiveMessages(2, { maxWaitTimeInMs: 5_000 })
  expect(received).toMatchObject([
    { body: 1, deliveryCount: 0 },
    { body: 2, deliveryCount: 0 },
  ])
})

test('more deliveries than a session can hold unsettled go on when they are settled', async () => {
  await using world = await served(0)
  for (let piece = 0; piece < 5; piece += 1) await send(world, 1000)
  const receiver = await world.receiver('q', { autoaccept: true })
  const seen = counted(receiver)
  receiver.on('message', () => receiver.add_credit(1))
  receiver.add_credit(500)
  await expect.poll(() => seen.count).toBe(5000)
  await expect
    .poll(async () => (await world.broker.getQueueRuntimeProperties('q')).activeMessageCount)
    .toBe(0)
})

test('released is not counted as a delivery, modified is, and rejected is a dead letter', async () => {
  await using world = await served(1)
  const receiver = await world.receiver('q')
  const counts: unknown[] = []
  for (const settle of ['release', 'abandon', 'reject'] as const) {
    const message = nextEvent(receiver, 'message')
    receiver.add_credit(1)
    const { delivery, message: received } = await message
    counts.push(received?.delivery_count ?? 0)
    if (settle === 'release') delivery?.release()
    else if (settle === 'abandon')
      delivery?.modified({ delivery_failed: true, undeliverable_here: false })
    else delivery?.reject({ condition: 'app:bad', description: 'why' })
  }
  expect(counts).toEqual([0, 0, 1])
  const dead = world.broker.createReceiver('q', { subQueueType: 'deadLetter' })
  const [letter] = await dead.receiveMessages(1)
  expect(letter).toMatchObject({ deadLetterReason: 'app:bad', deadLetterErrorDescription: 'why' })
})

test('a refused attach brings the error: unknown, forwarding, and with sessions', async () => {
  await using world = await served(0)
  await world.broker.createQueue('f', { forwardTo: 'q' })
  await world.broker.createQueue('s', { requiresSession: true })
  const connection = await world.connect()
  for (const [address, condition] of [
    ['nowhere', 'amqp:not-found'],
    ['f', 'amqp:not-allowed'],
    ['s', 'amqp:not-allowed'],
    ['q/$DeadLetterQueue/$DeadLetterQueue', 'amqp:not-found'],
  ] as const) {
    const receiver = connection.open_receiver(address)
    await once(receiver, 'receiver_error')
    expect(receiver.error).toMatchObject({ condition })
  }
  expect(world.failures).toEqual([])
})

test('TMP-12 links of a deleted entity are closed', async () => {
  await using world = await served(0)
  const receiver = await world.receiver('q')
  receiver.add_credit(1)
  // Without credit.
  const idle = await world.receiver('q')
  const sender = await world.sender('q')
  const errors = [
    once(receiver, 'receiver_error'),
    once(idle, 'receiver_error'),
    once(sender, 'sender_error'),
  ]
  await world.broker.deleteQueue('q')
  sender.send({ body: 1 })
  await Promise.all(errors)
  for (const { error } of [receiver, idle, sender]) {
    expect(error).toMatchObject({ condition: 'amqp:not-found' })
  }
})

test('several links in one session do not stand in each other’s way', async () => {
  await using world = await served(3)
  await world.broker.createQueue('other')
  const connection = await world.connect()
  const idle = connection.open_receiver({ source: 'other', credit_window: 0, autoaccept: false })
  const busy = connection.open_receiver({ source: 'q', credit_window: 0, autoaccept: false })
  await once(busy, 'receiver_open')
  const [seen, others] = [counted(busy), counted(idle)]
  busy.add_credit(3)
  await expect.poll(() => seen.count).toBe(3)
  idle.add_credit(1)
  await world.broker.createSender('other').sendMessages({ body: 1 })
  await expect.poll(() => others.count).toBe(1)
})
