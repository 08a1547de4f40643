import rhea from 'rhea'
import { describe, expect, it } from 'vitest'
import { annotationsOf, ManagedBroker, uuidBytes, wire } from './managed-broker.fixture.ts'

const LOCK = { 'receiver-settle-mode': rhea.types.wrap_uint(1) }
const DELETE = { 'receiver-settle-mode': rhea.types.wrap_uint(0) }
const NOT_FOUND = { status: 404, condition: 'com.microsoft:message-not-found' }

/** A queue whose messages are deferred. */
async function withDeferred(...bodies: readonly unknown[]): Promise<ManagedBroker> {
  const world = await ManagedBroker.open()
  await world.broker.createQueue('q', { maxMessageSizeInKilobytes: 20_480 })
  await using receiver = world.broker.createReceiver('q')
  for (const body of bodies) {
    await world.broker.createSender('q').sendMessages({ body })
    const [message] = await receiver.receiveMessages(1)
    await receiver.deferMessage(message ?? {})
  }
  return world
}

function numbers(...values: readonly number[]): object {
  return { 'sequence-numbers': wire.longs(...values) }
}

describe('receive-by-sequence-number', () => {
  it('SET-05 gives deferred messages under locks, in the order of the numbers', async () => {
    await using world = await withDeferred('a', 'b')
    const { status, body } = await world.ask('q', 'receive-by-sequence-number', {
      ...numbers(2, 1),
      ...LOCK,
    })
    expect(status).toBe(200)
    const annotations = body.messages.map(({ message }) => annotationsOf(message))
    expect(annotations).toMatchObject([
      { 'x-opt-sequence-number': 2, 'x-opt-message-state': 1 },
      { 'x-opt-sequence-number': 1 },
    ])
    const until = new Date(world.clock.wallMs() + 60_000)
    expect(annotations[0]?.['x-opt-locked-until']).toEqual(until)
    const tokens = body.messages.map((entry) => entry['lock-token'])
    const settle = {
      'lock-tokens': rhea.types.wrap_array(tokens, 0x98, undefined),
      'disposition-status': 'completed',
    }
    expect(await world.ask('q', 'update-disposition', settle)).toMatchObject({ status: 200 })
    expect(await world.broker.createReceiver('q').peekMessages(2)).toEqual([])
  })

  it('gives a lock token whose bytes are in the order of its digits', async () => {
    await using world = await withDeferred('a')
    const { body } = await world.ask('q', 'receive-by-sequence-number', { ...numbers(1), ...LOCK })
    const token = body.messages[0]!['lock-token']
    const text = rhea.uuid_to_string(token)
    expect(uuidBytes(text)).toEqual(token)
    await world.broker.createReceiver('q').completeMessage({ lockToken: text })
  })

  it('SET-08 gives them without a lock token in receive-and-delete', async () => {
    await using world = await withDeferred('a')
    const { body } = await world.ask('q', 'receive-by-sequence-number', {
      ...numbers(1),
      ...DELETE,
    })
    expect(Object.keys(body.messages[0] ?? {})).toEqual(['message'])
    expect(await world.broker.createReceiver('q').peekMessages(1)).toEqual([])
  })

  it('SET-05 gives none when one is not there or locked', async () => {
    await using world = await withDeferred('a', 'b')
    const ask = (...values: readonly number[]) =>
      world.ask('q', 'receive-by-sequence-number', { ...numbers(...values), ...LOCK })
    expect(await ask(1, 9)).toMatchObject(NOT_FOUND)
    expect(await ask(1)).toMatchObject({ status: 200 })
    expect(await ask(2, 1)).toMatchObject(NOT_FOUND)
    expect(await ask(Number.MAX_SAFE_INTEGER)).toMatchObject(NOT_FOUND)
    const beyond = { 'sequence-numbers': [rhea.types.wrap_long(Buffer.alloc(8, 0x7f))] }
    expect(
      await world.ask('q', 'receive-by-sequence-number', { ...beyond, ...LOCK }),
    ).toMatchObject(NOT_FOUND)
  })

  it('gives none when they are more than an answer takes, and one of any size alone', async () => {
    await using world = await withDeferred(Buffer.alloc(9_000_000), Buffer.alloc(9_000_000))
    const ask = (...values: readonly number[]) =>
      world.ask('q', 'receive-by-sequence-number', { ...numbers(...values), ...LOCK })
    expect(await ask(1, 2)).toMatchObject({
      status: 403,
      condition: 'amqp:link:message-size-exceeded',
    })
    expect(await ask(2)).toMatchObject({ status: 200 })
  })

  it('SES-10 gives those of a session to the link that holds it', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('q', { requiresSession: true })
    await world.broker.createSender('q').sendMessages({ body: 1, sessionId: 'a' })
    const { link } = await world.hold('q', 'a', 'mine')
    const options = { max: 1, maxWaitMs: 0, afterFirstMs: 0, signal: undefined }
    const [received] = await link.receive(options)
    await link.settle(received?.lock?.token ?? '', { kind: 'defer', changes: undefined })
    const body = { ...numbers(1), ...DELETE, 'session-id': 'a' }
    expect(await world.ask('q', 'receive-by-sequence-number', body, 'other')).toMatchObject({
      status: 410,
      condition: 'com.microsoft:session-lock-lost',
    })
    const answer = await world.ask('q', 'receive-by-sequence-number', body, 'mine')
    expect(answer.body.messages).toHaveLength(1)
    const rest = { session: undefined, fromNumber: 0, max: 1, maxBytes: 1 }
    expect(await world.front.peek('q', rest)).toEqual([])
  })

  it.each([
    ['sequence-numbers', { ...LOCK }],
    ['sequence-numbers', { ...LOCK, 'sequence-numbers': [] }],
    ['sequence-numbers', { ...LOCK, 'sequence-numbers': ['x'] }],
    ['receiver-settle-mode', numbers(1)],
  ])('names %s when it is wrong or missing', async (name, body) => {
    await using world = await withDeferred('a')
    expect(await world.ask('q', 'receive-by-sequence-number', body)).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining(name),
    })
  })
})
