import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateObserver } from '@tidemark/testing/simulation'
import { SendReceipts, type Order, type Receipt } from './receipts.ts'

/** What the mail service has sent, by key: all that outlives a worker. */
class Outbox {
  readonly sent = new Map<string, Receipt>()

  send(key: string, receipt: Receipt): void {
    if (!this.sent.has(key)) this.sent.set(key, receipt)
  }
}

test('each version of an order gets one receipt, whatever happens to workers', async () => {
  const report = await simulateObserver<Order, Outbox>(
    // A `request` may be answered, lost before, or lost after it was done.
    ({ request }) =>
      new SendReceipts({ send: (key, receipt) => request((outbox) => outbox.send(key, receipt)) }),
    {
      feed: {
        partitionKey: ({ customerId }) => customerId,
        documents: (random) =>
          Array.from({ length: 30 }, (_, index) => ({
            id: `o${index}`,
            customerId: random.pick(['ann', 'bob', 'cem']),
            total: random.between(1, 100),
          })),
      },
      world: () => new Outbox(),
      check: ({ world, changes }) => {
        for (const change of changes) {
          if (change.kind !== 'document') continue
          const { id, customerId, total } = change.document
          const receipt = world.sent.get(`${id}:${change.lsn}`)
          assert.deepEqual(receipt, { orderId: id, to: customerId, total })
        }
        assert.equal(world.sent.size, changes.length)
      },
      seeds: 30,
    },
  )
  // A test without faults would show nothing.
  assert.ok(report.deliveredAgain > 0)
})
