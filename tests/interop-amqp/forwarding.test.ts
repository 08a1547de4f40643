import { describe, expect, test } from 'vitest'
import { bodies, only } from './client-entity.ts'
import { Namespace, refusal } from './interop-amqp.fixture.ts'

describe('Forwarding', () => {
  test('SET-13 a message is received where it was forwarded to, unchanged', async () => {
    await using space = await Namespace.open()
    const target = await space.queue({}, 'target')
    const source = await space.queue({ forwardTo: 'target' })
    await source.send({ body: { a: 1 }, messageId: 'm', applicationProperties: { n: 1 } })
    expect(await target.receiveOne()).toMatchObject({
      body: { a: 1 },
      messageId: 'm',
      applicationProperties: { n: 1 },
    })
    expect(await source.peek()).toEqual([])
  })

  test('SET-13 a subscription can forward to a queue', async () => {
    await using space = await Namespace.open()
    const target = await space.queue({}, 'target')
    const source = await space.subscription({ forwardTo: 'target' })
    await source.send('a', 'b')
    expect(bodies(await target.receive(2))).toEqual(['a', 'b'])
  })

  test('SET-13 forwarding to a topic asks its rules', async () => {
    await using space = await Namespace.open()
    const red = await space.subscription(
      { rules: [{ name: 'red', filter: { subject: 'red' } }] },
      'red',
    )
    const source = await space.queue({ forwardTo: 'events' })
    await source.send({ body: 'r', subject: 'red' }, { body: 'b', subject: 'blue' })
    expect(bodies(await red.receive(1))).toEqual(['r'])
    expect(await source.peek()).toEqual([])
  })

  test('SET-13 a receiver cannot attach to an entity that forwards', async () => {
    await using space = await Namespace.open()
    await space.queue({}, 'target')
    const source = await space.queue({ forwardTo: 'target' })
    const { code, message } = await refusal(source.receiveOne())
    expect([code, /forward/i.test(message)]).toEqual(['GeneralError', true])
  })

  test('SET-13 after four hops a message goes to the dead-letter queue', async () => {
    await using space = await Namespace.open()
    const names = ['q5', 'q4', 'q3', 'q2', 'q1', 'q0']
    for (const [index, name] of names.entries()) {
      const forwardTo = names[index - 1]
      await space.queue(forwardTo === undefined ? {} : { forwardTo }, name)
    }
    await space.entity('q1').send('four')
    expect((await space.entity('q5').receiveOne()).body).toBe('four')
    await space.entity('q0').send('five')
    const stopped = async (): Promise<unknown[]> =>
      (await Promise.all(names.map((name) => space.entity(name).peekDead())))
        .flat()
        .map(({ body, deadLetterReason }) => [String(body), deadLetterReason])
    await expect.poll(stopped).toEqual([['five', 'MaxTransferHopCountExceeded']])
  })

  test('SET-13 a message whose destination is disabled goes to the dead-letter queue', async () => {
    await using space = await Namespace.open()
    await space.queue({ status: 'SendDisabled' }, 'target')
    const source = await space.queue({ forwardTo: 'target' })
    await source.send('a')
    await source.settlesAt({ here: [], dead: ['a'] })
  })

  test('SET-13 a message whose destination has gone goes to the dead-letter queue', async () => {
    await using space = await Namespace.open()
    await space.queue({}, 'target')
    const source = await space.queue({ forwardTo: 'target' })
    await space.broker.deleteQueue('target')
    await source.send('a')
    await source.settlesAt({ here: [], dead: ['a'] })
  })

  test('SET-18 across forwarding a message keeps its first number', async () => {
    await using space = await Namespace.open()
    const target = await space.queue({}, 'target')
    await target.send('x', 'y')
    const source = await space.queue({ forwardTo: 'target' })
    await source.send('a')
    const [, , message] = await target.receive(3)
    expect(message?.enqueuedSequenceNumber).toBe(1)
    expect(message?.sequenceNumber?.toNumber()).toBe(3)
  })

  test('SET-13 a scheduled message is forwarded at its time', async () => {
    await using space = await Namespace.open()
    const target = await space.queue({}, 'target')
    const source = await space.queue({ forwardTo: 'target' })
    await source.sender.scheduleMessages({ body: 'a' }, space.in(60_000))
    expect(bodies(await source.peek())).toEqual(['a'])
    const waiting = target.receive(1)
    space.clock.jump(60_000)
    expect(bodies(await waiting)).toEqual(['a'])
  })

  test('SET-14 dead letters that are forwarded name the entity where they died', async () => {
    await using space = await Namespace.open()
    const graves = await space.queue({}, 'graves')
    const source = await space.queue({
      forwardDeadLetteredMessagesTo: 'graves',
      deadLetteringOnMessageExpiration: true,
    })
    await source.send({ body: 'a', timeToLive: 60_000 })
    space.clock.jump(60_000)
    expect(await source.receiveNow()).toEqual([])
    expect(only(await graves.receive(1))).toMatchObject({
      body: 'a',
      deadLetterReason: 'TTLExpiredException',
      deadLetterSource: 'orders',
    })
  })
})

const DETECTING = { requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindow: 'PT10M' }

describe('Duplicate detection', () => {
  test('SET-10 a message id that was seen is accepted and dropped', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DETECTING)
    await queue.send({ body: 'a', messageId: 'm' })
    await queue.send({ body: 'b', messageId: 'm', subject: 'other' })
    await queue.send({ body: 'c', messageId: 'n' })
    expect(bodies(await queue.peek())).toEqual(['a', 'c'])
  })

  test('SET-10 also after the first one was completed', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DETECTING)
    await queue.send({ body: 'a', messageId: 'm' })
    await queue.receiver.completeMessage(await queue.receiveOne())
    await queue.send({ body: 'b', messageId: 'm' })
    expect(await queue.peek()).toEqual([])
  })

  test('SET-10 also within one batch', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DETECTING)
    await queue.send(
      { body: 'a', messageId: 'm' },
      { body: 'b', messageId: 'm' },
      { body: 'c', messageId: 'n' },
    )
    expect(bodies(await queue.peek())).toEqual(['a', 'c'])
  })

  test('SET-10 when the window is over the id is new', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DETECTING, duplicateDetectionHistoryTimeWindow: 'PT1M' })
    await queue.send({ body: 'a', messageId: 'm' })
    space.clock.jump(61_000)
    await queue.send({ body: 'b', messageId: 'm' })
    expect(bodies(await queue.peek())).toEqual(['a', 'b'])
  })

  test('SET-10 scheduled messages take part', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DETECTING)
    await queue.sender.scheduleMessages({ body: 'a', messageId: 'm' }, space.in(60_000))
    await queue.send({ body: 'b', messageId: 'm' })
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SET-10 on a topic it acts before the rules', async () => {
    await using space = await Namespace.open()
    await space.topic(DETECTING)
    const red = await space.subscription(
      { rules: [{ name: 'red', filter: { subject: 'red' } }] },
      'red',
    )
    await red.send({ body: 'a', messageId: 'm', subject: 'blue' })
    await red.send({ body: 'b', messageId: 'm', subject: 'red' })
    expect(await red.peek()).toEqual([])
  })

  test('SET-10 ids are compared as they are, with their kinds', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DETECTING)
    await queue.send({ body: 'a', messageId: 'M' }, { body: 'b', messageId: 'm' })
    expect(bodies(await queue.peek())).toEqual(['a', 'b'])
  })

  test('SET-10 without detection the same id comes twice', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', messageId: 'm' })
    await queue.send({ body: 'b', messageId: 'm' })
    expect(bodies(await queue.peek())).toEqual(['a', 'b'])
  })
})
