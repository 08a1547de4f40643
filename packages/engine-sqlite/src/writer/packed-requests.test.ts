import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packRequests, unpackRequests } from './packed-requests.ts'
import type { WriterRequest } from './writer-messages.ts'

const number = fc.maxSafeNat()
const text = fc.string({ unit: 'binary' })
const condition = fc.oneof(
  fc.record({ kind: fc.constantFrom('none', 'absent', 'present') }),
  fc.record({ kind: fc.constantFrom('lsn', 'notLsn'), lsn: number }),
)
const operation = fc.oneof(
  fc.record({
    kind: fc.constant('put'),
    id: text,
    condition,
    rid: text,
    body: text,
    ttl: fc.oneof(fc.integer({ min: -1 }), fc.constant('invalid')),
    expirySecond: fc.option(number, { nil: undefined }),
  }),
  fc.record({ kind: fc.constantFrom('delete', 'check'), id: text, condition }),
)
const fields = {
  collection: number,
  epk: text,
  partitionKey: text,
  operations: fc.array(operation),
}
const batch = fc.record(fields)
const fence = fc.record({
  job: text,
  range: fc.record({ minInclusive: text, maxExclusive: text }),
  epoch: number,
})
const plain = fc.record({
  kind: fc.constant('commit'),
  batches: fc.array(batch),
  fence: fc.option(fence, { nil: undefined }),
  sync: fc.boolean(),
})
const withMore = fc.oneof(
  fc.record({
    kind: fc.constant('commit'),
    batches: fc.array(
      fc.record({
        ...fields,
        uniqueSteps: fc.array(fc.record({ id: text, entries: fc.array(text) })),
      }),
      { minLength: 1 },
    ),
  }),
  fc.record({ kind: fc.constantFrom('flush', 'drop') }),
)
const request = fc.record({
  id: number,
  nowMs: fc.double({ noNaN: true }),
  chars: number,
  task: fc.oneof(plain, withMore),
}) as fc.Arbitrary<WriterRequest>

test('requests are the same, and in the same order, after they crossed to the thread', () => {
  fc.assert(
    fc.property(fc.array(request), (requests) => {
      const crossed = structuredClone(packRequests(requests))
      expect(unpackRequests(crossed)).toEqual(requests)
    }),
  )
})

test('only what is more than documents and a fence crosses as it is', () => {
  const document = { kind: 'delete', id: 'a', condition: { kind: 'none' } } as const
  const one = { collection: 1, epk: '0', partitionKey: '["p"]', operations: [document] }
  const commit = (id: number, more: object): WriterRequest => ({
    id,
    nowMs: 1,
    chars: 0,
    task: { kind: 'commit', batches: [one], ...more },
  })
  const later = { job: 'j', range: { minInclusive: '', maxExclusive: 'FF' }, epoch: 1 }
  const unique = { ...one, uniqueSteps: [{ id: 'a', entries: [] }] }
  const { others } = packRequests([
    commit(1, {}),
    commit(2, { fence: later }),
    commit(3, { sync: false }),
    commit(4, { batches: [one, unique] }),
  ])
  expect(others.map(({ id }) => id)).toEqual([4])
})
