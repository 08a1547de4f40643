import type { Connection, Receiver } from 'rhea'
import { systemClock } from '@tidemark/contracts'
import { AccessPolicies } from '@tidemark/messaging/front'
import { describe, expect, it, test, vi } from 'vitest'
import { ConnectionClaims } from '../access/connection-claims.ts'
import type { ClientLink } from '../links/client-link.ts'
import { KEY, nextEvent, ServedBroker } from '../server/served-broker.fixture.ts'
import { ClientLinks } from './client-links.ts'
import { Work } from './work.ts'

const ROOT = { name: 'root', keys: [KEY], rights: ['Manage'] } as const
const LISTENER = { name: 'listener', keys: ['its key'], rights: ['Listen'] } as const

describe('an attach', () => {
  it('is refused when the client has lost its right while it waited for a session', async () => {
    await using served = await ServedBroker.open({ policies: [ROOT, LISTENER] })
    const { broker, server } = served
    await broker.createQueue('orders', { requiresSession: true })
    const connection = await served.connect({ username: 'listener', password: 'its key' })
    const receiver = acceptNext(connection, 'orders')
    await nextAttachAnswered(connection)
    server.replacePolicies([ROOT])
    await broker.createSender('orders').sendMessages({ body: 1, sessionId: 'a' })

    await nextEvent(receiver, 'receiver_close')
    expect(receiver.error).toMatchObject({ condition: 'amqp:unauthorized-access' })
    const session = await broker.acceptNextSession('orders', { maxWaitTimeInMs: 5_000 })
    const [message] = await session.receiveMessages(1)
    expect(message).toMatchObject({ sessionId: 'a', deliveryCount: 0 })
  })

  it.each(['orders/$management', 'nowhere/$management', 'orders', 'nowhere'])(
    'to %s tells a client without rights nothing about entities',
    async (address) => {
      const policies = [ROOT, { name: 'nobody', keys: ['a key'], rights: [] }]
      await using served = await ServedBroker.open({ policies })
      await served.broker.createQueue('orders')
      const connection = await served.connect({ username: 'nobody', password: 'a key' })
      const sender = connection.open_sender(address)
      const receiver = connection.open_receiver({ source: address })
      await Promise.all([nextEvent(sender, 'sender_close'), nextEvent(receiver, 'receiver_close')])
      const refused = { condition: 'amqp:unauthorized-access' }
      expect([sender.error, receiver.error]).toMatchObject([refused, refused])
    },
  )
})

test('a link whose client has left while it was opened holds nothing', async () => {
  const work = new Work((error) => expect.fail(String(error)))
  // Of a link that is never answered.
  const link = { _process: () => undefined } as never
  const policies = new AccessPolicies([ROOT])
  const links = new ClientLinks({
    work,
    claims: new ConnectionClaims(policies, systemClock),
    report: () => undefined,
  })
  const opened = Promise.withResolvers<ClientLink>()
  links.attach(link, () => opened.promise)
  expect(links.detached(link)).toBe(false)
  const [begin, end] = [vi.fn(), vi.fn(() => Promise.resolve())]
  opened.resolve({ path: 'q', rights: [], maxTransferBytes: 0, begin, end })
  await work.idle()
  expect(end).toHaveBeenCalledOnce()
  expect(begin).not.toHaveBeenCalled()
  expect(links.has(link)).toBe(false)
})

function acceptNext(connection: Connection, queue: string): Receiver {
  return connection.open_receiver({
    // rhea's declarations know no such filter.
    source: { address: queue, filter: { 'com.microsoft:session-filter': null } } as never,
    credit_window: 0,
  })
}

/** What was sent before has arrived: a later attach has its answer. */
async function nextAttachAnswered(connection: Connection): Promise<void> {
  await nextEvent(connection.open_receiver({ source: 'nowhere' }), 'receiver_close')
}
