import rhea from 'rhea'
import { describe, expect, it } from 'vitest'
import { ManagedBroker, wire } from './managed-broker.fixture.ts'

async function withQueue(): Promise<ManagedBroker> {
  const world = await ManagedBroker.open()
  await world.broker.createQueue('q', { requiresDuplicateDetection: true })
  return world
}

/** An entry as the official client makes it. */
function entry(id: string, atMs?: number): object {
  const annotations =
    atMs === undefined
      ? {}
      : { message_annotations: { 'x-opt-scheduled-enqueue-time': rhea.types.wrap_timestamp(atMs) } }
  const message = {
    body: rhea.message.data_section(Buffer.from('"x"')),
    message_id: id,
    ...annotations,
  }
  return {
    message: rhea.message.encode(message),
    'message-id': id,
  }
}

describe('schedule-message', () => {
  it('SCH-03 answers with the sequence numbers of the messages', async () => {
    await using world = await withQueue()
    const atMs = world.clock.wallMs() + 60_000
    const messages = [entry('a', atMs), entry('b', atMs + 1)]
    const { status, body } = await world.ask('q', 'schedule-message', { messages })
    expect({ status, body }).toEqual({ status: 200, body: { 'sequence-numbers': [1, 2] } })
    expect(await world.broker.createReceiver('q').peekMessages(3)).toMatchObject([
      { messageId: 'a', state: 'scheduled', scheduledEnqueueTimeUtc: new Date(atMs) },
      { messageId: 'b', state: 'scheduled', scheduledEnqueueTimeUtc: new Date(atMs + 1) },
    ])
  })

  it('SET-10 gives a duplicate the number 0', async () => {
    await using world = await withQueue()
    const messages = [entry('a', world.clock.wallMs() + 60_000)]
    await world.ask('q', 'schedule-message', { messages })
    const { body } = await world.ask('q', 'schedule-message', { messages })
    expect(body).toEqual({ 'sequence-numbers': [0] })
  })

  it('refuses all of them when one has no time', async () => {
    await using world = await withQueue()
    const messages = [entry('a', world.clock.wallMs() + 60_000), entry('b')]
    expect(await world.ask('q', 'schedule-message', { messages })).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining('messages[1].message'),
    })
    expect(await world.broker.createReceiver('q').peekMessages(3)).toEqual([])
  })

  it('refuses what is no message', async () => {
    await using world = await withQueue()
    const messages = [{ message: Buffer.from('no message') }]
    expect(await world.ask('q', 'schedule-message', { messages })).toMatchObject({
      status: 400,
      condition: 'amqp:decode-error',
    })
  })

  it.each([
    ['messages', {}],
    ['messages', { messages: [] }],
    ['messages[0]', { messages: [5] }],
    ['messages[0].message', { messages: [{}] }],
    ['messages[0].message', { messages: [{ message: 'text' }] }],
  ])('names %s when it is wrong or missing', async (name, body) => {
    await using world = await withQueue()
    expect(await world.ask('q', 'schedule-message', body)).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining(name),
    })
  })

  it('is refused for a subscription and a dead-letter queue', async () => {
    await using world = await withQueue()
    await world.broker.createTopic('t')
    await world.broker.createSubscription({ topic: 't', subscription: 's' })
    const messages = [entry('a', world.clock.wallMs() + 60_000)]
    for (const path of ['t/Subscriptions/s', 'q/$DeadLetterQueue']) {
      expect(await world.ask(path, 'schedule-message', { messages })).toMatchObject({
        status: 400,
        condition: 'amqp:not-allowed',
      })
    }
  })
})

describe('cancel-scheduled-message', () => {
  it('SCH-04 deletes all of them, or none', async () => {
    await using world = await withQueue()
    const atMs = world.clock.wallMs() + 60_000
    await world.ask('q', 'schedule-message', { messages: [entry('a', atMs), entry('b', atMs)] })
    const cancel = (...numbers: readonly number[]) =>
      world.ask('q', 'cancel-scheduled-message', { 'sequence-numbers': wire.longs(...numbers) })
    expect(await cancel(1, 3)).toMatchObject({
      status: 404,
      condition: 'com.microsoft:message-not-found',
    })
    expect(await cancel(1, 2, 1)).toMatchObject({ status: 200 })
    expect(await world.broker.createReceiver('q').peekMessages(3)).toEqual([])
  })

  it('names the numbers when they are missing', async () => {
    await using world = await withQueue()
    expect(await world.ask('q', 'cancel-scheduled-message', {})).toMatchObject({
      status: 400,
      description: expect.stringContaining('sequence-numbers'),
    })
  })
})
