import { describe, expect, test } from 'vitest'
import { bodies, only, receive, receiveOne } from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const BOTH = ['queue', 'subscription'] as const
const REASON = { deadLetterReason: 'NoAddress', deadLetterErrorDescription: 'no street' }

describe('Dead letters', () => {
  test.each(BOTH)('SET-04 dead-lettering keeps the message, with its reason (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send({
      body: { a: 1 },
      messageId: 'm',
      subject: 's',
      applicationProperties: { n: 1 },
    })
    await entity.receiver.deadLetterMessage(await entity.receiveOne(), REASON)
    expect(await entity.peek()).toEqual([])
    const dead = await receiveOne(entity.openDead())
    expect(dead).toMatchObject({ body: { a: 1 }, messageId: 'm', subject: 's', ...REASON })
    expect(dead.applicationProperties).toEqual({
      n: 1,
      DeadLetterReason: REASON.deadLetterReason,
      DeadLetterErrorDescription: REASON.deadLetterErrorDescription,
    })
  })

  test('SET-04 dead-lettering can change application properties', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', applicationProperties: { old: 1 } })
    const message = await queue.receiveOne()
    await queue.receiver.deadLetterMessage(message, { ...REASON, by: 'ada', tries: 3, final: true })
    const { applicationProperties, deadLetterReason } = only(await queue.peekDead())
    expect(applicationProperties).toMatchObject({ old: 1, by: 'ada', tries: 3, final: true })
    expect(deadLetterReason).toBe('NoAddress')
  })

  test('SET-04 a dead letter needs no reason', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await queue.receiver.deadLetterMessage(await queue.receiveOne())
    const dead = only(await queue.peekDead())
    expect(dead.body).toBe('a')
    expect(dead.deadLetterReason ?? '').toBe('')
  })

  test('SET-04 a reason of 4096 characters is kept', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const long = 'r'.repeat(4096)
    await queue.receiver.deadLetterMessage(await queue.receiveOne(), {
      deadLetterReason: long,
      deadLetterErrorDescription: long,
    })
    const dead = only(await queue.peekDead())
    expect(dead.deadLetterReason).toBe(long)
    expect(dead.deadLetterErrorDescription).toBe(long)
  })

  test('SET-04 a message of a dead-letter queue cannot be dead-lettered', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await queue.receiver.deadLetterMessage(await queue.receiveOne(), REASON)
    const dead = queue.openDead()
    const message = await receiveOne(dead)
    expect(await codeOf(dead.deadLetterMessage(message, REASON))).not.toBe('Error')
    expect(bodies(await queue.peekDead())).toEqual(['a'])
  })

  test.each(BOTH)('EXP-20 a dead letter can be abandoned and completed (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send({ body: 'a', timeToLive: 60_000 })
    await entity.receiver.deadLetterMessage(await entity.receiveOne(), REASON)
    space.clock.jump(120_000)
    const dead = entity.openDead()
    await dead.abandonMessage(await receiveOne(dead))
    const again = await receiveOne(dead)
    expect(again.deliveryCount).toBe(1)
    await dead.completeMessage(again)
    expect(await entity.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-03 in a dead-letter queue no delivery count is too large', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxDeliveryCount: 1 })
    await queue.send('a')
    await queue.receiver.abandonMessage(await queue.receiveOne())
    const dead = queue.openDead()
    for (let delivery = 0; delivery < 4; delivery += 1) {
      await dead.abandonMessage(await receiveOne(dead))
    }
    expect(bodies(await queue.peekDead())).toEqual(['a'])
  })

  test('SET-05 a dead letter can be deferred and received by its number', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await queue.receiver.deadLetterMessage(await queue.receiveOne(), REASON)
    const dead = queue.openDead()
    const message = await receiveOne(dead)
    await dead.deferMessage(message)
    const { sequenceNumber } = message
    const [again] = await dead.receiveDeferredMessages(
      sequenceNumber === undefined ? [] : [sequenceNumber],
    )
    expect(again).toMatchObject({ body: 'a', deadLetterReason: 'NoAddress' })
  })

  test('SET-08 dead letters can be received and deleted', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    for (const message of await queue.receive(2)) await queue.receiver.deadLetterMessage(message)
    const dead = queue.openDead({ receiveMode: 'receiveAndDelete' })
    expect(bodies(await receive(dead, 2))).toEqual(['a', 'b'])
    expect(await queue.peekDead()).toEqual([])
  })

  test('SET-18 dead letters have numbers of their own queue', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    const [a, b] = await queue.receive(2)
    if (a === undefined || b === undefined) throw new Error('two messages were sent')
    await queue.receiver.deadLetterMessage(b)
    await queue.receiver.deadLetterMessage(a)
    const dead = await queue.peekDead()
    expect(
      dead.map(({ body, sequenceNumber }) => [String(body), sequenceNumber?.toNumber()]),
    ).toEqual([
      ['b', 1],
      ['a', 2],
    ])
  })

  test('SET-15 the dead-letter queue of what does not exist is not found', async () => {
    await using space = await Namespace.open()
    const receiver = space.entity('nowhere').openDead()
    const { code, message } = await refusal(receiveOne(receiver))
    expect([code, message.includes('nowhere')]).toEqual(['MessagingEntityNotFound', true])
  })

  test('SET-14 a queue that receives dead letters of another names where they died', async () => {
    await using space = await Namespace.open()
    const graves = await space.queue({}, 'graves')
    const queue = await space.queue({ forwardDeadLetteredMessagesTo: 'graves' })
    await queue.send({ body: 'a', applicationProperties: { n: 1 } })
    await queue.receiver.deadLetterMessage(await queue.receiveOne(), REASON)
    const letter = await graves.receiveOne()
    expect(letter).toMatchObject({ body: 'a', ...REASON, deadLetterSource: 'orders' })
    expect(letter.applicationProperties).toMatchObject({ n: 1, DeadLetterReason: 'NoAddress' })
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-14 dead letters of a subscription can go to a topic', async () => {
    await using space = await Namespace.open()
    await space.topic({}, 'graves')
    await space.broker.createSubscription({ topic: 'graves', subscription: 'all' })
    const billing = await space.subscription({ forwardDeadLetteredMessagesTo: 'graves' })
    await billing.send('a')
    await billing.receiver.deadLetterMessage(await billing.receiveOne(), REASON)
    const letter = await space.entity('graves', 'all').receiveOne()
    expect(letter).toMatchObject({ body: 'a', ...REASON })
    expect(letter.deadLetterSource?.toLowerCase()).toBe('events/subscriptions/billing')
  })

  test('SET-14 messages that deliveries wore out are forwarded with their reason', async () => {
    await using space = await Namespace.open()
    const graves = await space.queue({}, 'graves')
    const queue = await space.queue({
      maxDeliveryCount: 1,
      forwardDeadLetteredMessagesTo: 'graves',
    })
    await queue.send('a')
    await queue.receiver.abandonMessage(await queue.receiveOne())
    expect((await graves.receiveOne()).deadLetterReason).toBe('MaxDeliveryCountExceeded')
  })
})
