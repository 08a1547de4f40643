import { once } from 'node:events'
import type { Sender } from 'rhea'
import { expect, test } from 'vitest'
import { ServedBroker } from '../server/served-broker.fixture.ts'

/** That the front has given; rhea's declarations do not know it. */
function creditOf(sender: Sender): number {
  return Number(Reflect.get(sender, 'credit'))
}

test('credit comes back once for each transfer: never more than 1,000 are on their way', async () => {
  await using world = await ServedBroker.open()
  await world.broker.createQueue('q')
  const sender = await world.sender('q')
  const seen: number[] = []
  let accepted = 0
  sender.on('accepted', () => (accepted += 1))
  for (let piece = 0; piece < 3; piece += 1) {
    for (let count = 0; count < 500; count += 1) sender.send({ body: count })
    await expect.poll(() => accepted).toBe(500 * (piece + 1))
    // Room for the next piece.
    while (creditOf(sender) < 500) await once(sender, 'sender_flow')
    seen.push(creditOf(sender))
  }
  expect(Math.max(...seen)).toBeLessThanOrEqual(1_000)
})
