import rhea from 'rhea'
import { describe, expect, it } from 'vitest'
import { ManagedBroker, wire } from './managed-broker.fixture.ts'

function request(count: number, more: object = {}): object {
  return { 'message-count': wire.int(count), ...more }
}

async function withMessages(count: number): Promise<ManagedBroker> {
  const world = await ManagedBroker.open()
  await world.broker.createQueue('q')
  for (let body = 1; body <= count; body++) {
    await world.broker.createSender('q').sendMessages({ body })
    await world.clock.advance(10)
  }
  return world
}

async function bodiesOf(world: ManagedBroker): Promise<readonly unknown[]> {
  return (await world.broker.createReceiver('q').peekMessages(10)).map(({ body }) => body)
}

describe('batch-delete-messages', () => {
  it('SET-22 removes the oldest messages that wait, and says how many', async () => {
    await using world = await withMessages(6)
    const receiver = world.broker.createReceiver('q')
    const [first, second] = await receiver.receiveMessages(2)
    await receiver.deferMessage(second ?? {})
    expect(await world.ask('q', 'batch-delete-messages', request(3))).toMatchObject({
      status: 200,
      body: { 'message-count': 3 },
    })
    expect(await bodiesOf(world)).toEqual([1, 2, 6])
    await receiver.completeMessage(first ?? {})
    expect(await world.ask('q', 'batch-delete-messages', request(10))).toMatchObject({
      body: { 'message-count': 1 },
    })
    expect(await world.ask('q', 'batch-delete-messages', request(10))).toMatchObject({
      status: 204,
    })
    expect(await bodiesOf(world)).toEqual([2])
  })

  it('SET-22 removes those only that were enqueued before an instant', async () => {
    await using world = await withMessages(4)
    const [, , third] = await world.broker.createReceiver('q').peekMessages(4)
    const before = rhea.types.wrap_timestamp(third?.enqueuedTimeUtc?.getTime() ?? 0)
    const answer = await world.ask(
      'q',
      'batch-delete-messages',
      request(10, { 'enqueued-time-utc': before }),
    )
    expect(answer.body).toEqual({ 'message-count': 2 })
    expect(await bodiesOf(world)).toEqual([3, 4])
  })

  it('SET-22 of a session needs the session', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('s', { requiresSession: true })
    const sender = world.broker.createSender('s')
    for (const sessionId of ['a', 'b', 'a']) await sender.sendMessages({ body: 1, sessionId })
    await world.clock.advance(1)
    expect((await world.ask('s', 'batch-delete-messages', request(9))).status).toBe(400)
    const inSession = request(9, { 'session-id': 'a' })
    expect((await world.ask('s', 'batch-delete-messages', inSession, 'link')).status).toBe(410)
    await world.hold('s', 'a', 'link')
    const answer = await world.ask('s', 'batch-delete-messages', inSession, 'link')
    expect(answer.body).toEqual({ 'message-count': 2 })
  })

  it('needs the right to receive, and a number of messages', async () => {
    await using world = await withMessages(1)
    expect((await world.ask('q', 'batch-delete-messages', {})).status).toBe(400)
    const time = request(1, { 'enqueued-time-utc': 'yesterday' })
    expect((await world.ask('q', 'batch-delete-messages', time)).status).toBe(400)
    world.rights = new Set(['Send'])
    expect((await world.ask('q', 'batch-delete-messages', request(1))).status).toBe(401)
    expect(await bodiesOf(world)).toEqual([1])
  })
})

describe('a transfer dead-letter queue', () => {
  it('SET-23 shows nothing, and says of other operations that they are not offered', async () => {
    await using world = await withMessages(1)
    const path = 'q/$Transfer/$DeadLetterQueue'
    const peek = { 'from-sequence-number': wire.long(0), 'message-count': wire.int(1) }
    expect((await world.ask(path, 'peek-message', peek)).status).toBe(204)
    expect((await world.ask(path, 'batch-delete-messages', request(1))).status).toBe(204)
    const { status, description } = await world.ask(path, 'schedule-message', {})
    expect([status, description]).toEqual([501, expect.stringContaining('transfer')])
  })
})
