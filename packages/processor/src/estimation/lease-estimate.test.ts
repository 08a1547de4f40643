import { FULL_RANGE, encodeContinuation, lsn, type Lease } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { totalEstimate, type LeaseEstimate } from './feed-estimate.ts'
import { leaseEstimate } from './lease-estimate.ts'
import type { RangeMeasure } from './measure-range.ts'

const NOW_MS = 100_000
const position = { range: FULL_RANGE, epoch: 0, lsn: lsn(5), purgeStamp: undefined }
const lease: Lease = {
  id: '-FF',
  range: FULL_RANGE,
  owner: undefined,
  epoch: 1,
  checkpoint: {
    continuation: encodeContinuation({
      collectionRid: 'rid',
      mode: 'latestVersion',
      positions: [position],
    }),
    lsn: lsn(5),
    attempts: undefined,
  },
  target: undefined,
  timestampMs: NOW_MS,
  etag: 'e',
}
const snapshot = {
  clockMs: NOW_MS,
  membershipVersion: 0,
  planVersion: 0,
  generation: 'g',
  paused: false,
  hosts: [],
  leases: [lease],
}

function part(measure: Partial<RangeMeasure> = {}): RangeMeasure {
  const nothing = { remainingChanges: 0, isExact: true, oldestChangeMs: undefined }
  return { newestLsn: lsn(5), problem: undefined, ...nothing, ...measure }
}

function estimate(...measures: readonly RangeMeasure[]): LeaseEstimate {
  return leaseEstimate({ lease, measures }, { snapshot, nowMs: NOW_MS })
}

describe('PH-9 a lease whose range has several parts', () => {
  const inexact = part({ isExact: false })
  test.each([
    { parts: [inexact, part(), part()] },
    { parts: [part(), inexact, part()] },
    { parts: [part(), part(), inexact] },
  ])('is exact only if every part is, and has caught up only then: $parts', ({ parts }) => {
    const one = estimate(...parts)
    expect(one).toMatchObject({ isExact: false, remainingChanges: 0, oldestChangeAgeMs: undefined })
    const whole = estimate(part(), part())
    expect(whole).toMatchObject({ isExact: true, oldestChangeAgeMs: 0 })
    for (const leases of [
      [one, whole],
      [whole, one],
    ]) {
      expect(totalEstimate(leases)).toMatchObject({ isExact: false, caughtUp: false })
    }
    expect(totalEstimate([whole, whole])).toMatchObject({ isExact: true, caughtUp: true })
  })

  test('adds up what is left, is as far as the farthest and as old as the oldest of them', () => {
    const parts = [
      part({ newestLsn: lsn(7), remainingChanges: 2, oldestChangeMs: NOW_MS - 10 }),
      part({ newestLsn: lsn(9), remainingChanges: 1, oldestChangeMs: NOW_MS - 30 }),
      part({ newestLsn: lsn(6), problem: 'horizonPassed' }),
    ]
    const expected = {
      newestLsn: 9,
      lsnDistance: 4,
      remainingChanges: 3,
      oldestChangeAgeMs: 30,
      problem: 'horizonPassed',
    }
    expect(estimate(...parts)).toMatchObject(expected)
    expect(estimate(...parts.toReversed())).toMatchObject(expected)
  })
})
