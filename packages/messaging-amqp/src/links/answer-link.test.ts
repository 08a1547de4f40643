import { once } from 'node:events'
import { MessageFront } from '@tidemark/messaging/front'
import rhea, { type EventContext } from 'rhea'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ServedBroker } from '../server/served-broker.fixture.ts'

it('keeps 32 MiB of answers for a client that gives no credit, and goes on when it does', async () => {
  await using served = await ServedBroker.open()
  await served.broker.createQueue('orders')
  await served.broker.createSender('orders').sendMessages({ body: 'x'.repeat(1_000_000) })
  const connection = await served.connect()
  const node = 'orders/$management'
  const answers = connection.open_receiver({
    source: node,
    target: { address: 'here' },
    credit_window: 0,
  })
  const requests = connection.open_sender(node)
  await Promise.all([once(answers, 'receiver_open'), once(requests, 'sendable')])
  const ids: unknown[] = []
  const peeked = vi.spyOn(MessageFront.prototype, 'peek')
  onTestFinished(() => peeked.mockRestore())
  answers.on('message', ({ message }: EventContext) => void ids.push(message?.correlation_id))
  const peek = (id: number): void => {
    requests.send({
      message_id: id,
      reply_to: 'here',
      application_properties: { operation: 'com.microsoft:peek-message' },
      body: { 'from-sequence-number': rhea.types.wrap_long(1), 'message-count': 1 },
    })
  }
  for (let id = 1; id <= 60; id++) peek(id)
  const done = (): number =>
    peeked.mock.settledResults.filter(({ type }) => type === 'fulfilled').length
  await expect.poll(done, { timeout: 20_000 }).toBe(60)
  answers.add_credit(100)
  await expect.poll(() => ids.length).toBeGreaterThan(30)
  peek(61)
  await expect.poll(() => ids.at(-1)).toBe(61)
  expect(ids.length).toBeLessThan(36)
})
