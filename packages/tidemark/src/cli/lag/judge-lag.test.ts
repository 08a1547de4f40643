import { FULL_RANGE, lsn } from '@tidemark/contracts'
import type { FeedEstimate, LeaseEstimate } from '@tidemark/processor'
import { expect, test } from 'vitest'
import { countLimit, judgeLag, type LagStatus, type LagThresholds } from './judge-lag.ts'
import { lagLine, lagTable } from './lag-text.ts'

const LEASE: LeaseEstimate = {
  leaseId: '-FF',
  range: FULL_RANGE,
  state: 'owned',
  owner: 'worker',
  epoch: 7,
  checkpointLsn: lsn(10),
  newestLsn: lsn(40),
  lsnDistance: 30,
  remainingChanges: 0,
  isExact: true,
  oldestChangeAgeMs: 0,
  attempts: undefined,
  timestampMs: 0,
  problem: undefined,
}

function estimateOf(lease: Partial<LeaseEstimate> | undefined): FeedEstimate {
  const only = { ...LEASE, ...lease }
  const leases = lease === undefined ? [] : [only]
  const { remainingChanges, isExact, lsnDistance, oldestChangeAgeMs } = only
  return {
    group: 'mirror',
    feed: 'shop/orders',
    atMs: 0,
    paused: false,
    hosts: ['worker'],
    leases,
    remainingChanges,
    isExact,
    lsnDistance,
    oldestChangeAgeMs,
    caughtUp: remainingChanges === 0 && isExact,
  }
}

test('PH-9 what is too much, too old or not known decides, the worst first', () => {
  const limits: LagThresholds = { warn: 10, critical: 100 }
  const ages: LagThresholds = { warnAgeS: 5, criticalAgeS: 60 }
  const cases: readonly (readonly [
    Partial<LeaseEstimate> | undefined,
    LagThresholds,
    LagStatus,
  ])[] = [
    [undefined, {}, 'unknown'],
    [{}, {}, 'ok'],
    [{ remainingChanges: 1_000_000 }, {}, 'ok'],
    [{ remainingChanges: 9 }, limits, 'ok'],
    [{ remainingChanges: 10 }, limits, 'warning'],
    [{ remainingChanges: 99 }, limits, 'warning'],
    [{ remainingChanges: 100 }, limits, 'critical'],
    [{ remainingChanges: 99 }, { critical: 100 }, 'ok'],
    [{ remainingChanges: 10 }, { warn: 10 }, 'warning'],
    [{ oldestChangeAgeMs: 4_999 }, ages, 'ok'],
    [{ oldestChangeAgeMs: 5_000 }, ages, 'warning'],
    [{ oldestChangeAgeMs: 60_000 }, ages, 'critical'],
    [{ remainingChanges: 1_000, oldestChangeAgeMs: 4_999 }, ages, 'ok'],
    [{ remainingChanges: 10, oldestChangeAgeMs: 60_000 }, { ...limits, ...ages }, 'critical'],
    // At least so many: it may be more.
    [{ remainingChanges: 9, isExact: false }, limits, 'unknown'],
    [{ remainingChanges: 9, isExact: false }, {}, 'ok'],
    [{ remainingChanges: 9, isExact: false }, ages, 'ok'],
    [{ remainingChanges: 10, isExact: false }, limits, 'warning'],
    [{ remainingChanges: 100, isExact: false }, limits, 'critical'],
    [{ oldestChangeAgeMs: undefined }, ages, 'unknown'],
    [{ oldestChangeAgeMs: undefined }, limits, 'ok'],
    [{ oldestChangeAgeMs: undefined, remainingChanges: 100 }, { ...limits, ...ages }, 'critical'],
    // Somebody has to help.
    [{ problem: 'horizonPassed', isExact: false }, {}, 'critical'],
  ]
  for (const [lease, thresholds, status] of cases) {
    expect([judgeLag(estimateOf(lease), thresholds), lease, thresholds]).toEqual([
      status,
      lease,
      thresholds,
    ])
  }
})

test('PH-9 what is left, with nobody there to do it, is a warning, unless the group is paused', () => {
  const behind = { ...estimateOf({ remainingChanges: 1 }), caughtUp: false }
  expect(judgeLag(behind, {})).toBe('ok')
  expect(judgeLag({ ...behind, hosts: [] }, {})).toBe('warning')
  expect(judgeLag({ ...behind, hosts: [], paused: true }, {})).toBe('ok')
  expect(judgeLag({ ...estimateOf({}), hosts: [], caughtUp: true }, {})).toBe('ok')
  expect(judgeLag({ ...behind, hosts: [] }, { critical: 1 })).toBe('critical')
  // The caller has said what is too much.
  expect(judgeLag({ ...behind, hosts: [] }, { warn: 2 })).toBe('ok')
})

test('PH-9 so much is counted of each range that a threshold is never missed', () => {
  expect(countLimit({})).toBe(1_000)
  expect(countLimit({ warn: 10 })).toBe(1_000)
  expect(countLimit({ warn: 2_000, critical: 50_000 })).toBe(50_000)
  expect(countLimit({ criticalAgeS: 1_000_000 })).toBe(1_000)
})

test('the line says what is left, what is amiss, and the figures where thresholds are given', () => {
  const line = (lease: Partial<LeaseEstimate> | undefined, thresholds?: LagThresholds): string =>
    lagLine(estimateOf(lease), 'ok', thresholds)
  expect(line(undefined)).toBe('OK: group mirror has no leases')
  expect(line({})).toBe('OK: nothing left to do; 1 host')
  const behind = { remainingChanges: 1_234, isExact: false, oldestChangeAgeMs: 65_432 }
  expect(line(behind)).toBe('OK: 1,234+ changes left in 1 of 1 ranges, the oldest 65 s old; 1 host')
  expect(line(behind, { warn: 10, criticalAgeS: 60 })).toMatch(/ \| changes=1234;10; age=65s;;60$/)
  expect(line({ state: 'silent', problem: 'horizonPassed', oldestChangeAgeMs: undefined })).toBe(
    'OK: nothing left to do; 1 host, 1 silent, 1 horizonPassed',
  )
})

test('the table has a line a lease', () => {
  const attempts = { count: 3, size: 10 }
  const lease = { remainingChanges: 1_000, isExact: false, oldestChangeAgeMs: undefined, attempts }
  const [head, row] = lagTable(estimateOf(lease)).split('\n')
  expect(head).toMatch(/^FROM +OWNER +STATE +LSN +NEWEST +LEFT +AGE s +TRIES +PROBLEM$/)
  expect(row).toMatch(/^0 +worker +owned +10 +40 +1,000\+ +\? +3 +-$/)
})
