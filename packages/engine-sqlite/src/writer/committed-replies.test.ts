import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packReply, unpackReplies } from './committed-replies.ts'
import type { WriterReply } from './writer-messages.ts'

const number = fc.maxSafeNat()
const batch = fc.record({
  place: fc.record({ collection: number, range: number }),
  lsn: number,
  existed: fc.array(fc.boolean()),
})
const reply: fc.Arbitrary<WriterReply> = fc
  .record({ id: number, timeMs: number, batches: fc.array(batch) })
  .map(({ id, timeMs, batches }) => ({
    id,
    result: {
      kind: 'committed',
      outcome: {
        kind: 'committed',
        timeMs,
        batches: batches.map(({ lsn, existed }) => ({ lsn, existed })),
      },
      touched: batches.map(({ place, lsn }) => ({ ...place, lsn })),
    },
  }))

test('replies of commits are the same after they crossed as numbers', () => {
  fc.assert(
    fc.property(fc.array(reply), (replies) => {
      const packed: number[] = []
      for (const each of replies) expect(packReply(packed, each)).toBe(true)
      const unpacked: WriterReply[] = []
      unpackReplies(packed, (id, result) => unpacked.push({ id, result }))
      expect(unpacked).toEqual(replies)
    }),
  )
})

test('any other reply is left to be sent as it is', () => {
  const packed: number[] = []
  expect(packReply(packed, { id: 1, result: { kind: 'done' } })).toBe(false)
  const outcome = { kind: 'fenced', currentEpoch: 2 } as const
  expect(packReply(packed, { id: 1, result: { kind: 'committed', outcome, touched: [] } })).toBe(
    false,
  )
  const committed = { kind: 'committed', timeMs: 1, batches: [] } as const
  const messages = { touched: [1], news: 1 }
  expect(
    packReply(packed, {
      id: 1,
      result: { kind: 'committed', outcome: committed, touched: [], messages },
    }),
  ).toBe(false)
  expect(packed).toEqual([])
})
