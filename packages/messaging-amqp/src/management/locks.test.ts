import { describe, expect, it } from 'vitest'
import { ManagedBroker, wire } from './managed-broker.fixture.ts'

const NO_TOKEN = '00000000-0000-0000-0000-00000000000f'

async function withLocked(count: number) {
  const world = await ManagedBroker.open()
  await world.broker.createQueue('q', { lockDuration: 'PT10S' })
  const bodies = Array.from({ length: count }, (_, body) => ({ body }))
  await world.broker.createSender('q').sendMessages(bodies)
  const received = await world.broker.createReceiver('q').receiveMessages(count)
  return { world, tokens: received.map(({ lockToken }) => lockToken ?? '') }
}

describe('renew-lock', () => {
  it('SET-07 answers with the new ends of the locks, in the order of the tokens', async () => {
    const { world, tokens } = await withLocked(2)
    await using _ = world
    await world.clock.advance(4000)
    const { status, body } = await world.ask('q', 'renew-lock', {
      'lock-tokens': wire.uuids(...tokens),
    })
    const until = new Date(world.clock.wallMs() + 10_000)
    expect({ status, body }).toEqual({ status: 200, body: { expirations: [until, until] } })
  })

  it('SET-06 answers 410 when one of the locks is lost, and keeps the others', async () => {
    const { world, tokens } = await withLocked(1)
    await using _ = world
    await world.clock.advance(8000)
    const lockTokens = wire.uuids(NO_TOKEN, ...tokens)
    const answer = await world.ask('q', 'renew-lock', { 'lock-tokens': lockTokens })
    expect(answer).toMatchObject({ status: 410, condition: 'com.microsoft:message-lock-lost' })
    await world.clock.advance(8000)
    const renewed = { 'lock-tokens': wire.uuids(...tokens) }
    expect(await world.ask('q', 'renew-lock', renewed)).toMatchObject({ status: 200 })
  })

  it('SET-15 answers 404 for an entity that does not exist, in words that the official client knows', async () => {
    await using world = await ManagedBroker.open()
    const body = { 'lock-tokens': wire.uuids(NO_TOKEN) }
    expect(await world.ask('none', 'renew-lock', body)).toMatchObject({
      status: 404,
      condition: 'amqp:not-found',
      description: "The messaging entity 'none' could not be found.",
    })
  })

  it.each([
    ['nothing', {}],
    ['no list', { 'lock-tokens': NO_TOKEN }],
    ['an empty list', { 'lock-tokens': [] }],
    ['texts', { 'lock-tokens': [NO_TOKEN] }],
    ['short bytes', { 'lock-tokens': [Buffer.alloc(15)] }],
  ])('names the field that has %s', async (_case, body) => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('q')
    expect(await world.ask('q', 'renew-lock', body)).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining('lock-tokens'),
    })
  })
})
