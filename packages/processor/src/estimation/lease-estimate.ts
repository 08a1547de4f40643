import {
  feedRangeId,
  lsn,
  type Lease,
  type LeaseGroupSnapshot,
  type Lsn,
} from '@tidemark/contracts'
import { liveOwner } from '../administration/group-status.ts'
import type { LeaseEstimate, LeaseEstimateState } from './feed-estimate.ts'
import type { RangeMeasure } from './measure-range.ts'
import type { MissingKeys } from './missing-keys.ts'

/** What was found of one lease: of each part of its range, or nothing where there is no telling. */
export interface MeasuredLease {
  readonly lease: Lease
  readonly measures: readonly RangeMeasure[] | undefined
}

/** Puts together what the lease and the parts of its range say. */
export function leaseEstimate(
  { lease, measures = [UNKNOWN] }: MeasuredLease,
  { snapshot, nowMs }: { readonly snapshot: LeaseGroupSnapshot; readonly nowMs: number },
): LeaseEstimate {
  const { checkpoint, id, range, epoch, timestampMs } = lease
  return {
    leaseId: id,
    range,
    state: leaseState(lease, snapshot, nowMs),
    owner: liveOwner(lease, snapshot.hosts),
    epoch,
    checkpointLsn: checkpoint.lsn,
    ...lagOf(checkpoint.lsn, measures, nowMs),
    attempts: checkpoint.attempts,
    timestampMs,
    problem: measures.find(({ problem }) => problem !== undefined)?.problem,
  }
}

/** Of keys that no lease has, from where the group stood. Never exact: what nobody works on is not done. */
export function missingEstimate(
  { range, lsn: checkpointLsn }: MissingKeys,
  measures: readonly RangeMeasure[],
  nowMs: number,
): LeaseEstimate {
  const inexact = [...measures, { ...UNKNOWN, newestLsn: checkpointLsn }]
  return {
    leaseId: feedRangeId(range),
    range,
    state: 'missing',
    owner: undefined,
    epoch: 0,
    checkpointLsn,
    ...lagOf(checkpointLsn, inexact, nowMs),
    attempts: undefined,
    timestampMs: 0,
    problem: 'leaseMissing',
  }
}

function lagOf(
  stoodLsn: Lsn,
  measures: readonly RangeMeasure[],
  nowMs: number,
): Pick<
  LeaseEstimate,
  'newestLsn' | 'lsnDistance' | 'remainingChanges' | 'isExact' | 'oldestChangeAgeMs'
> {
  const newestLsn = Math.max(stoodLsn, ...measures.map((measure) => measure.newestLsn))
  const remainingChanges = measures.reduce((sum, measure) => sum + measure.remainingChanges, 0)
  const isExact = measures.every((measure) => measure.isExact)
  const oldestMs = Math.min(...measures.map(({ oldestChangeMs }) => oldestChangeMs ?? Infinity))
  const unknownAge = remainingChanges === 0 && isExact ? 0 : undefined
  return {
    newestLsn: lsn(newestLsn),
    lsnDistance: newestLsn - stoodLsn,
    remainingChanges,
    isExact,
    oldestChangeAgeMs: oldestMs === Infinity ? unknownAge : Math.max(0, nowMs - oldestMs),
  }
}

const UNKNOWN: RangeMeasure = {
  newestLsn: lsn(0),
  remainingChanges: 0,
  isExact: false,
  oldestChangeMs: undefined,
  problem: 'rangeGone',
}

/** For the difference between this machine's clock and the lease store's. */
const CLOCK_TOLERANCE_MS = 10_000

/** Who works on a lease, as far as a snapshot of its group tells. `nowMs`: wall time. */
export function leaseState(
  lease: Lease,
  { paused, clockMs, hosts }: LeaseGroupSnapshot,
  nowMs: number,
): Exclude<LeaseEstimateState, 'missing'> {
  const owner = liveOwner(lease, hosts)
  const session = hosts.find(({ host }) => host === owner)
  if (session === undefined) return paused ? 'paused' : 'unowned'
  const sessionMs = Math.max(0, session.deadlineMs - clockMs)
  return nowMs - lease.timestampMs > sessionMs + CLOCK_TOLERANCE_MS ? 'silent' : 'owned'
}
