import { setImmediate } from 'node:timers/promises'
import { MessageFront } from '@tidemark/messaging/front'
import { expect, it, onTestFinished, vi } from 'vitest'
import { nextEvent, ServedBroker } from './served-broker.fixture.ts'

it('answers what it has stored before it stops, and detaches the sender that waited', async () => {
  const stored = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its own `this`.
  const send = MessageFront.prototype.send
  const spy = vi.spyOn(MessageFront.prototype, 'send').mockImplementation(async function (
    this: MessageFront,
    ...given
  ) {
    const numbers = await send.apply(this, given)
    stored.resolve()
    await answer.promise
    return numbers
  })
  onTestFinished(() => spy.mockRestore())
  await using served = await ServedBroker.open()
  await served.broker.createQueue('orders')
  const sender = await served.sender('orders')
  const idle = await served.sender('orders')
  const closed: string[] = []
  sender.on('sender_close', ({ sender: link }: { sender: { error?: { condition: string } } }) =>
    closed.push(`busy: ${link.error?.condition}`),
  )
  // Its client would wait in `close()` for a server that has gone.
  idle.on('sender_close', () => closed.push('idle'))
  const accepted = nextEvent(sender, 'accepted')
  sender.send({ body: 1 })
  await stored.promise
  const stopped = served.server.stop()
  for (let turn = 0; turn < 5; turn++) await setImmediate()
  answer.resolve()
  await Promise.all([stopped, accepted])
  expect(closed).toEqual(['busy: amqp:link:detach-forced'])
})
