import { expect, test } from 'vitest'
import {
  lsn,
  parseFeedRangeId,
  type Continuation,
  type HostProfile,
  type LeaseGroupSnapshot,
} from '@tidemark/contracts'
import { loadText } from './lease-loads.ts'
import { planSnapshot } from './plan-snapshot.ts'

const NOW_MS = 1_700_000_000_000
const IDS = ['-20', '20-40', '40-60', '60-80', '80-A0', 'A0-C0', 'C0-E0', 'E0-FF']

/** `a` has the first four leases and `b` the others; the first two cost most. */
function snapshot({
  heldMs = 3_600_000,
  ...profiles
}: {
  heldMs?: number
  a?: Partial<HostProfile>
  b?: Partial<HostProfile>
} = {}): LeaseGroupSnapshot {
  const costs = (ids: readonly string[]): string =>
    loadText(new Map(ids.map((id) => [id, IDS.indexOf(id) < 2 ? 500 : 1])))
  const profile = {
    weight: 1,
    minLeases: 0,
    maxLeases: 100,
    leaving: false,
    balanceBy: 'load' as const,
  }
  const loads = { a: costs(IDS.slice(0, 4)), b: costs(IDS.slice(4)) }
  return {
    clockMs: 0,
    membershipVersion: 2,
    planVersion: 2,
    generation: 'g',
    paused: false,
    hosts: (['a', 'b'] as const).map((host) => ({
      host,
      incarnation: 'i',
      deadlineMs: 8_000,
      profile: { ...profile, load: loads[host], ...profiles[host] },
    })),
    leases: IDS.map((id, index) => {
      const host = index < 4 ? 'a' : 'b'
      return {
        id,
        range: parseFeedRangeId(id)!,
        owner: { host, incarnation: 'i' },
        epoch: (NOW_MS - heldMs) * 1_000,
        checkpoint: { continuation: 'c' as Continuation, lsn: lsn(1) },
        target: host,
        timestampMs: NOW_MS - index,
        etag: '',
      }
    }),
  }
}

test('PH-14 loads that hosts tell are shared out', () => {
  const plan = planSnapshot(snapshot())
  expect(plan).toMatchObject({ by: 'load', moves: 1 })
  expect(plan.targets.get('-20')).not.toBe(plan.targets.get('20-40'))
})

test('PH-14 leases are counted while a host of a later release says another balance', () => {
  const later = { balanceBy: 'later' as 'load' }
  expect(planSnapshot(snapshot({ b: later }))).toMatchObject({ by: 'count', moves: 0 })
})

test('PH-14 epochs tell which leases have come just now', () => {
  expect(planSnapshot(snapshot({ heldMs: 59_000 })).moves).toBe(0)
  expect(planSnapshot(snapshot({ heldMs: 61_000 })).moves).toBe(1)
})

test('PH-14 a lease that was last changed before the clock was set back hides not which ones have come just now', () => {
  const given = snapshot({ heldMs: 59_000 })
  const changedAhead = given.leases.map((lease, index) =>
    index === 7 ? { ...lease, timestampMs: NOW_MS + 3_600_000 } : lease,
  )
  expect(planSnapshot({ ...given, leases: changedAhead }).moves).toBe(0)
})

test('PH-14 a lease whose owner is gone says nothing of the time', () => {
  const refuses = [IDS[7]!]
  const given = snapshot({ a: { refuses }, b: { refuses } })
  const left = given.leases.map((lease, index) =>
    index === 7
      ? { ...lease, owner: { host: 'dead', incarnation: 'i' }, timestampMs: NOW_MS - 3_600_000 }
      : lease,
  )
  expect(planSnapshot({ ...given, leases: left })).toMatchObject({ by: 'load', moves: 1 })
})

test('PH-14 counts decide while one of the hosts that stay does not say load, or is of an older release', () => {
  expect(planSnapshot(snapshot({ b: { balanceBy: 'count' } }))).toMatchObject({
    by: 'count',
    moves: 0,
  })
  expect(planSnapshot(snapshot({ b: { balanceBy: undefined } }))).toMatchObject({
    by: 'count',
    moves: 0,
  })
  expect(planSnapshot(snapshot({ b: { balanceBy: 'count', leaving: true } })).by).toBe('load')
})

test('PH-14 counts decide while the cost of most leases is not known', () => {
  const silent = { load: undefined }
  expect(planSnapshot(snapshot({ a: silent })).by).toBe('load')
  expect(planSnapshot(snapshot({ a: silent, b: silent }))).toMatchObject({ by: 'count', moves: 0 })
  expect(planSnapshot(snapshot({ a: { load: 'x' }, b: { load: '-' } })).by).toBe('count')
})

test('PH-14 what an earlier process of a host told is not believed', () => {
  const given = snapshot()
  const leases = given.leases.map((lease) => ({
    ...lease,
    owner: { host: 'a', incarnation: 'old' },
  }))
  expect(planSnapshot({ ...given, leases }).by).toBe('count')
})

test('a paused group has no plan', () => {
  expect(planSnapshot({ ...snapshot(), paused: true })).toMatchObject({ moves: 0, unassigned: [] })
})
