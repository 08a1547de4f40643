import rhea from 'rhea'
import { describe, expect, it } from 'vitest'
import { decodeTransfer, PLAIN_FORMAT } from '../messages/decode-transfer.ts'
import { annotationsOf, ManagedBroker, wire, type DecodedAnswer } from './managed-broker.fixture.ts'

function request(from: number, count: number, more: object = {}): object {
  return { 'from-sequence-number': wire.long(from), 'message-count': wire.int(count), ...more }
}

function numbersOf({ body }: DecodedAnswer): readonly unknown[] {
  return body.messages.map(({ message }) => annotationsOf(message)['x-opt-sequence-number'])
}

async function withMessages(...bodies: readonly unknown[]): Promise<ManagedBroker> {
  const world = await ManagedBroker.open()
  await world.broker.createQueue('q')
  await world.broker.createSender('q').sendMessages(bodies.map((body) => ({ body })))
  return world
}

describe('peek-message', () => {
  it('SET-09 shows messages from a number on, without a lock token', async () => {
    await using world = await withMessages('a', 'b', 'c')
    await world.broker.createReceiver('q').receiveMessages(1)
    const answer = await world.ask('q', 'peek-message', request(1, 2))
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body.messages[0] ?? {})).toEqual(['message'])
    expect(numbersOf(answer)).toEqual([1, 2])
    const [locked] = answer.body.messages
    expect(annotationsOf(locked!.message)).not.toHaveProperty('x-opt-locked-until')
    expect(numbersOf(await world.ask('q', 'peek-message', request(3, 10)))).toEqual([3])
    expect(numbersOf(await world.ask('q', 'peek-message', request(-5, 1)))).toEqual([1])
  })

  it('answers 204 when there is nothing from there on', async () => {
    await using world = await withMessages('a')
    const beyond = { 'from-sequence-number': rhea.types.wrap_long(Buffer.alloc(8, 0x7f)) }
    for (const more of [{}, beyond]) {
      expect(await world.ask('q', 'peek-message', request(2, 1, more))).toMatchObject({
        status: 204,
      })
    }
  })

  it('shows one session, which another receiver may hold', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('q', { requiresSession: true })
    const messages = ['a', 'b', 'a'].map((sessionId) => ({ body: 1, sessionId }))
    await world.broker.createSender('q').sendMessages(messages)
    await using _held = await world.broker.acceptSession('q', 'a')
    const one = await world.ask('q', 'peek-message', request(1, 10, { 'session-id': 'a' }))
    expect(numbersOf(one)).toEqual([1, 3])
    expect(numbersOf(await world.ask('q', 'peek-message', request(1, 10)))).toEqual([1, 2, 3])
  })

  it('shows the scheduled messages of a topic', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createTopic('t')
    const at = new Date(world.clock.wallMs() + 60_000)
    await world.broker.createSender('t').scheduleMessages({ body: 1 }, at)
    const { body } = await world.ask('t', 'peek-message', request(1, 10))
    expect(annotationsOf(body.messages[0]!.message)).toMatchObject({ 'x-opt-message-state': 2 })
  })

  it('keeps an answer near 1 MiB, and shows a larger message alone', async () => {
    await using world = await withMessages()
    for (const _ of [1, 2, 3]) {
      await world.broker.createSender('q').sendMessages({ body: Buffer.alloc(400_000) })
    }
    expect(numbersOf(await world.ask('q', 'peek-message', request(1, 10)))).toEqual([1, 2])
    await world.broker.createQueue('large', { maxMessageSizeInKilobytes: 4096 })
    const bodies = [1, 2].map(() => ({ body: Buffer.alloc(3_000_000) }))
    for (const body of bodies) await world.broker.createSender('large').sendMessages(body)
    expect(numbersOf(await world.ask('large', 'peek-message', request(1, 10)))).toEqual([1])
  })

  it('shows at most 1000 messages', async () => {
    await using world = await withMessages(...Array.from({ length: 1100 }, (_, n) => n))
    expect(numbersOf(await world.ask('q', 'peek-message', request(1, 5000)))).toHaveLength(1000)
  })

  it('leaves out the bodies when it is asked to, and nothing else', async () => {
    await using world = await withMessages()
    const properties = { message_id: 'm', application_properties: { kept: 1 } }
    for (const body of [
      rhea.message.data_section(Buffer.from('text')),
      rhea.message.sequence_section(['text']),
      'text',
    ]) {
      const bytes = rhea.message.encode({ ...properties, footer: { text: 1 }, body })
      const sent = decodeTransfer({ format: PLAIN_FORMAT, bytes }, world.front.random)
      await world.front.send('q', sent)
    }
    await world.broker.createSender('q').sendMessages({
      body: 'text',
      messageId: 'm',
      applicationProperties: { kept: 1 },
    })
    const omit = request(1, 9, { 'omit-message-body': true })
    const { body } = await world.ask('q', 'peek-message', omit)
    expect(body.messages).toHaveLength(4)
    for (const { message } of body.messages) {
      const { body: shown, ...decoded } = rhea.message.decode(message)
      expect(decoded).toMatchObject(properties)
      expect(shown).toMatchObject({ typecode: 0x75, content: Buffer.alloc(0) })
      expect(message.toString('latin1')).not.toContain('text')
    }
  })

  it('shows the others of a damaged message, which it reports', async () => {
    await using world = await withMessages('a')
    const given = { session: undefined, ttlMs: undefined, scheduledMs: undefined, copies: [] }
    const damaged = { ...given, head: '{', body: new Uint8Array(), bytes: 1, messageId: 'x' }
    await world.front.send('q', [damaged])
    expect(numbersOf(await world.ask('q', 'peek-message', request(1, 2)))).toEqual([1])
    expect(world.failures).toMatchObject([{ code: 'ERR_STORE_DAMAGED' }])
    expect(await world.ask('q', 'peek-message', request(2, 1))).toMatchObject({ status: 500 })
  })

  it.each([
    ['from-sequence-number', { 'message-count': 1 }],
    ['message-count', { 'from-sequence-number': 1 }],
    ['message-count', { 'from-sequence-number': 1, 'message-count': 'x' }],
    ['message-count', { 'from-sequence-number': 1, 'message-count': 1.5 }],
    ['session-id', { 'from-sequence-number': 1, 'message-count': 1, 'session-id': 5 }],
    [
      'omit-message-body',
      { 'from-sequence-number': 1, 'message-count': 1, 'omit-message-body': 1 },
    ],
  ])('names %s when it is wrong or missing', async (name, body) => {
    await using world = await withMessages('a')
    expect(await world.ask('q', 'peek-message', body)).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining(name),
    })
  })
})
