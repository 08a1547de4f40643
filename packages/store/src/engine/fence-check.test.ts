import { rangesOverlap, type FeedRange } from '@tidemark/contracts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { refusingEpoch, withFence, type FenceRecord } from './fence-check.ts'

const bound = fc.integer({ min: 0, max: 8 })
const range: fc.Arbitrary<FeedRange> = fc
  .tuple(bound, bound)
  .filter(([a, b]) => a !== b)
  .map(([a, b]) => ({ minInclusive: `0${Math.min(a, b)}`, maxExclusive: `0${Math.max(a, b)}` }))
const attempts = fc.array(fc.record({ range, epoch: fc.integer({ min: 1, max: 6 }) }), {
  maxLength: 30,
})

test('a write is refused exactly when an overlapping range has a higher epoch', () => {
  fc.assert(
    fc.property(attempts, (writes) => {
      let records: readonly FenceRecord[] = []
      const accepted: FenceRecord[] = []
      for (const write of writes) {
        const fence = { job: 'job', ...write }
        // Told without forgetting anything: the highest epoch of every overlapping write so far.
        const highest = Math.max(
          0,
          ...accepted
            .filter((each) => rangesOverlap(each.range, write.range))
            .map((each) => each.epoch),
        )
        const refusing = refusingEpoch(records, fence)
        expect(refusing).toBe(highest > write.epoch ? highest : undefined)
        if (refusing !== undefined) continue
        records = withFence(records, fence)
        accepted.push(write)
      }
    }),
  )
})

test('a job that keeps its ranges keeps one record a range', () => {
  let records: readonly FenceRecord[] = []
  for (let epoch = 1; epoch <= 50; epoch++) {
    for (const [minInclusive, maxExclusive] of [
      ['', '20'],
      ['20', 'FF'],
    ] as const) {
      records = withFence(records, { job: 'job', range: { minInclusive, maxExclusive }, epoch })
    }
  }
  expect(records).toHaveLength(2)
})
