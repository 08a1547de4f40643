import {
  checkedNewLeases,
  feedRangeId,
  type GroupFeed,
  type Lease,
  type LeaseLoss,
  type NewLease,
} from '@tidemark/contracts'
import {
  applyChanges,
  leaseViews,
  type GroupHead,
  type LeaseGroupState,
  type LeaseGroupStep,
  type LeaseRecord,
} from './lease-group-state.ts'
import { leaseSetDamage, rangesOf } from './lease-set-damage.ts'

/**
 * `LeaseGroup.create`: the whole set iff the group has none. Either way the answer is the set that
 * the group has then.
 *
 * @throws ERR_INVALID_OPTION when two leases overlap
 */
export function createLeases(
  state: LeaseGroupState,
  leases: readonly NewLease[],
  storeTimeUs: number,
): LeaseGroupStep<readonly Lease[]> {
  const checked = checkedNewLeases(leases)
  if (state.leases.size > 0 || checked.length === 0) {
    return { changes: {}, reply: leaseViews(state) }
  }
  const records = checked.map((lease) => newLeaseRecord(lease, storeTimeUs))
  const changes = {
    ...withoutPlan(state.head),
    leases: new Map(records.map((record) => [record.id, record])),
    targets: new Map<string, string>(),
  }
  return { changes, reply: leaseViews(applyChanges(state, changes)) }
}

/**
 * `LeaseGroup.discard`: deletes leases and plan, unless this token was the last one used. Hosts that
 * start together pass one token, so that only the first discards (LE-8).
 */
export function discardLeases(
  { head, leases }: Pick<LeaseGroupState, 'head' | 'leases'>,
  token: string,
): LeaseGroupStep<boolean> {
  if (head.discardToken === token) return { changes: {}, reply: false }
  const { head: planned, hints } = withoutPlan(head)
  const epochFloor = highestEpoch(head, leases.values())
  const after = { ...planned, epochFloor, discardToken: token, feed: undefined }
  return {
    changes: { head: after, deleteLeases: true, targets: new Map(), hints },
    reply: true,
  }
}

/** `LeaseGroup.claimFeed`. */
export function claimGroupFeed(
  head: GroupHead,
  feed: GroupFeed,
  insteadOf: string | undefined,
): LeaseGroupStep<GroupFeed> {
  const { feed: noted } = head
  if (noted !== undefined && noted.rid !== insteadOf) return { changes: {}, reply: noted }
  if (noted === undefined) return { changes: { head: { ...head, feed } }, reply: feed }
  const membershipVersion = head.membershipVersion + 1
  return {
    changes: { head: { ...head, feed, membershipVersion }, hints: ['membership'] },
    reply: feed,
  }
}

/** `LeaseGroup.declareLost`. The set is judged where it is deleted: one that was whole is never lost by it. */
export function declareLeasesLost(
  { head, leases }: Pick<LeaseGroupState, 'head' | 'leases'>,
  { keys, generation }: LeaseLoss,
): LeaseGroupStep<boolean> {
  const damage = leases.size > 0 && leaseSetDamage(rangesOf(leases.keys()), keys)
  if (!damage) return { changes: {}, reply: false }
  const epochFloor = highestEpoch(head, leases.values())
  const membershipVersion = head.membershipVersion + 1
  return {
    changes: {
      head: { ...head, generation, epochFloor, membershipVersion },
      deleteLeases: true,
      targets: new Map(),
      hints: ['membership'],
    },
    reply: true,
  }
}

/** The highest epoch that the group ever gave. */
export function highestEpoch(head: GroupHead, leases: Iterable<LeaseRecord>): number {
  let highest = head.epochFloor
  for (const { epoch } of leases) highest = Math.max(highest, epoch)
  return highest
}

/** A lease that nobody has owned yet. */
export function newLeaseRecord(
  { range, checkpoint, epoch = 0 }: NewLease,
  storeTimeUs: number,
): LeaseRecord {
  return {
    id: feedRangeId(range),
    owner: undefined,
    epoch,
    checkpoint,
    changedMs: Math.floor(storeTimeUs / 1000),
    // Above every version of a discarded lease of this id, so that no etag comes back.
    version: storeTimeUs,
  }
}

/**
 * The head when the set of leases changes. A plan for the present membership was made for another
 * set, and the compare-and-set of `plan` would refuse a new one: the membership version rises, and
 * with it every host reads and plans again. Without such a plan, one has to be made anyway.
 */
export function withoutPlan(head: GroupHead): {
  readonly head: GroupHead
  readonly hints: readonly 'membership'[]
} {
  const { membershipVersion, planVersion } = head
  if (planVersion < membershipVersion) return { head, hints: [] }
  return { head: { ...head, membershipVersion: membershipVersion + 1 }, hints: ['membership'] }
}
