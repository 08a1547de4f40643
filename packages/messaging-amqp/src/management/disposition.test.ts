import rhea from 'rhea'
import { describe, expect, it } from 'vitest'
import { ManagedBroker, wire } from './managed-broker.fixture.ts'

const AT_ONCE = { maxWaitTimeInMs: 0 }

/** A queue with one locked message. */
async function withLocked() {
  const world = await ManagedBroker.open()
  await world.broker.createQueue('q')
  await world.broker
    .createSender('q')
    .sendMessages({ body: 1, applicationProperties: { kept: true, changed: 1 } })
  const receiver = world.broker.createReceiver('q')
  const [message] = await receiver.receiveMessages(1)
  const token = message?.lockToken ?? ''
  return { world, receiver, token, tokens: wire.uuids(token) }
}

describe('update-disposition', () => {
  it('SET-01 completes', async () => {
    const { world, receiver, tokens } = await withLocked()
    await using _ = world
    const body = { 'lock-tokens': tokens, 'disposition-status': 'completed' }
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({ status: 200 })
    expect(await receiver.peekMessages(1)).toEqual([])
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({
      status: 410,
      condition: 'com.microsoft:message-lock-lost',
    })
  })

  it('SET-06 answers 410 when one of the locks is lost, and settles the others', async () => {
    const { world, receiver, token } = await withLocked()
    await using _ = world
    const body = {
      'lock-tokens': wire.uuids(token, '00000000-0000-0000-0000-00000000000f'),
      'disposition-status': 'completed',
    }
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({
      status: 410,
      condition: 'com.microsoft:message-lock-lost',
    })
    expect(await receiver.peekMessages(1)).toEqual([])
  })

  it('SET-02 abandons, with properties of each type that clients have', async () => {
    const { world, receiver, tokens } = await withLocked()
    await using _ = world
    const at = new Date(1_700_000_000_000)
    const ticks = Buffer.alloc(8)
    ticks.writeBigInt64BE(638_000_000_000_000_001n)
    const changes = {
      changed: 2,
      half: 0.5,
      text: 'x',
      no: false,
      none: null,
      at,
      ticks: rhea.types.wrap_long(ticks),
      bin: Buffer.from('ab'),
    }
    const body = {
      'lock-tokens': tokens,
      'disposition-status': 'abandoned',
      'properties-to-modify': changes,
    }
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({ status: 200 })
    const [again] = await receiver.receiveMessages(1, AT_ONCE)
    expect(again?.deliveryCount).toBe(1)
    expect(again?.applicationProperties).toEqual({
      ...changes,
      kept: true,
      ticks: 638_000_000_000_000_001n,
      bin: new Uint8Array(Buffer.from('ab')),
    })
  })

  it('SET-05 defers', async () => {
    const { world, receiver, tokens } = await withLocked()
    await using _ = world
    const body = { 'lock-tokens': tokens, 'disposition-status': 'defered' }
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({ status: 200 })
    expect(await receiver.peekMessages(1)).toMatchObject([{ state: 'deferred' }])
  })

  it('SET-04 dead-letters with reason, description and properties, and not from a dead-letter queue', async () => {
    const { world, tokens } = await withLocked()
    await using _ = world
    const body = {
      'disposition-status': 'suspended',
      'deadletter-reason': 'why',
      'deadletter-description': 'because',
      'properties-to-modify': { changed: 2 },
    }
    const settled = await world.ask('q', 'update-disposition', { ...body, 'lock-tokens': tokens })
    expect(settled).toMatchObject({ status: 200 })
    const dead = world.broker.createReceiver('q', { subQueueType: 'deadLetter' })
    const [letter] = await dead.receiveMessages(1, AT_ONCE)
    expect(letter).toMatchObject({
      deadLetterReason: 'why',
      deadLetterErrorDescription: 'because',
      applicationProperties: { kept: true, changed: 2 },
    })
    const again = { ...body, 'lock-tokens': wire.uuids(letter?.lockToken ?? '') }
    expect(await world.ask('q/$DeadLetterQueue', 'update-disposition', again)).toMatchObject({
      status: 400,
      condition: 'amqp:not-allowed',
    })
  })

  it('settles the others when one lock is lost', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('q')
    await world.broker.createSender('q').sendMessages([{ body: 1 }, { body: 2 }])
    const receiver = world.broker.createReceiver('q')
    const tokens = (await receiver.receiveMessages(2)).map(({ lockToken }) => lockToken ?? '')
    await receiver.completeMessage({ lockToken: tokens[0] })
    const body = { 'lock-tokens': wire.uuids(...tokens), 'disposition-status': 'completed' }
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({ status: 410 })
    expect(await receiver.peekMessages(2)).toEqual([])
  })

  it('SES-11 settles messages of a session by the link that holds it only', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('q', { requiresSession: true })
    await world.broker.createSender('q').sendMessages({ body: 1, sessionId: 'a' })
    const { link } = await world.hold('q', 'a', 'mine')
    const options = { max: 1, maxWaitMs: 0, afterFirstMs: 0, signal: undefined }
    const [received] = await link.receive(options)
    const body = {
      'lock-tokens': wire.uuids(received?.lock?.token ?? ''),
      'disposition-status': 'completed',
      'session-id': 'a',
    }
    expect(await world.ask('q', 'update-disposition', body, 'other')).toMatchObject({
      status: 410,
      condition: 'com.microsoft:session-lock-lost',
    })
    expect(await world.ask('q', 'update-disposition', body, 'mine')).toMatchObject({ status: 200 })
    const gone = { session: undefined, fromNumber: 0, max: 1, maxBytes: 1 }
    expect(await world.front.peek('q', gone)).toEqual([])
  })

  it.each([
    ['disposition-status', { 'disposition-status': 'deferred' }],
    ['disposition-status', {}],
    ['properties-to-modify', { 'disposition-status': 'abandoned', 'properties-to-modify': 5 }],
    ['list', { 'disposition-status': 'abandoned', 'properties-to-modify': { list: [1] } }],
    ['deadletter-reason', { 'disposition-status': 'suspended', 'deadletter-reason': 5 }],
    [
      'at most 4096 characters',
      { 'disposition-status': 'suspended', 'deadletter-description': 'x'.repeat(4097) },
    ],
  ])('names %s when it is wrong, and settles nothing', async (name, wrong) => {
    const { world, receiver, tokens } = await withLocked()
    await using _ = world
    const body = { 'lock-tokens': tokens, ...wrong }
    expect(await world.ask('q', 'update-disposition', body)).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining(name),
    })
    expect(await receiver.receiveMessages(1, AT_ONCE)).toEqual([])
  })
})
