import {
  checkedReplacement,
  feedRangeId,
  parseFeedRangeId,
  rangeContains,
  type AcquiredLease,
  type Checkpoint,
  type HeldLease,
  type HostIdentity,
  type Lease,
  type NewLease,
} from '@tidemark/contracts'
import {
  applyChanges,
  leaseView,
  sameIdentity,
  type LeaseGroupState,
  type LeaseGroupStep,
  type LeaseRecord,
} from './lease-group-state.ts'

/** What `LeaseGroup.replace` is asked for. */
export interface ReplaceRequest extends HostIdentity {
  readonly old: readonly HeldLease[]
  readonly next: readonly NewLease[]
}

/**
 * `LeaseGroup.replace`. Looks at no session: authority is (epoch, host, incarnation).
 *
 * @throws ERR_INVALID_OPTION when `next` does not cover exactly the keys of `old`
 */
export function replaceLeases(
  state: LeaseGroupState,
  { host, incarnation, old, next }: ReplaceRequest,
  storeTimeUs: number,
): LeaseGroupStep<readonly AcquiredLease[] | 'lost'> {
  const caller: HostIdentity = { host, incarnation }
  const oldIds = old.map(({ leaseId }) => leaseId)
  const sorted = checkedReplacement(oldIds, next)
  const owned: LeaseRecord[] = []
  for (const { leaseId, epoch } of old) {
    const lease = state.leases.get(leaseId)
    if (lease?.epoch === epoch && sameIdentity(lease.owner, caller)) owned.push(lease)
  }
  if (owned.length < old.length) {
    return { changes: {}, reply: doneBefore(state, caller, old, sorted) ?? 'lost' }
  }
  const written = newRecords(state, caller, { owned, next: sorted, storeTimeUs })
  const changes = {
    // Always: also a plan that somebody is making at this moment does not know of the new leases.
    head: { ...state.head, membershipVersion: state.head.membershipVersion + 1 },
    hints: ['membership'] as const,
    removeLeases: oldIds,
    leases: new Map(written.map((record) => [record.id, record])),
    targets: replacedTargets(state.targets, oldIds, written),
  }
  const after = applyChanges(state, changes)
  return { changes, reply: written.map((record) => acquired(after, record)) }
}

/** `LeaseGroup.override`: the same, whoever owns the old leases; nobody owns the new ones. */
export function overrideLeases(
  state: LeaseGroupState,
  { old, next }: Pick<ReplaceRequest, 'old' | 'next'>,
  storeTimeUs: number,
): LeaseGroupStep<readonly Lease[] | 'changed'> {
  const oldIds = old.map(({ leaseId }) => leaseId)
  const sorted = checkedReplacement(oldIds, next)
  const present = old.flatMap(({ leaseId, epoch }) => {
    const lease = state.leases.get(leaseId)
    return lease?.epoch === epoch ? [lease] : []
  })
  if (present.length < old.length) return { changes: {}, reply: 'changed' }
  const head = { ...state.head, membershipVersion: state.head.membershipVersion + 1 }
  const written = sorted.map(({ range, checkpoint }) => ({
    id: feedRangeId(range),
    owner: undefined,
    checkpoint,
    changedMs: Math.floor(storeTimeUs / 1000),
    ...nextNumbers(state.head, present, storeTimeUs),
  }))
  const changes = {
    head,
    hints: ['membership'] as const,
    removeLeases: oldIds,
    leases: new Map(written.map((record) => [record.id, record])),
    targets: replacedTargets(state.targets, oldIds, []),
  }
  const after = applyChanges(state, changes)
  return { changes, reply: written.map((record) => leaseView(after, record)) }
}

/** The new leases as they are, if this incarnation owns all of them since the old ones were replaced. */
function doneBefore(
  state: LeaseGroupState,
  caller: HostIdentity,
  old: readonly HeldLease[],
  next: readonly NewLease[],
): readonly AcquiredLease[] | undefined {
  const lastEpoch = Math.max(...old.map(({ epoch }) => epoch))
  const present: AcquiredLease[] = []
  for (const { range } of next) {
    const lease = state.leases.get(feedRangeId(range))
    if (lease === undefined || !sameIdentity(lease.owner, caller)) return undefined
    if (lease.epoch <= lastEpoch) return undefined
    present.push(acquired(state, lease))
  }
  return present
}

function newRecords(
  { head }: LeaseGroupState,
  owner: HostIdentity,
  {
    owned,
    next,
    storeTimeUs,
  }: {
    readonly owned: readonly LeaseRecord[]
    readonly next: readonly NewLease[]
    readonly storeTimeUs: number
  },
): readonly LeaseRecord[] {
  const goesBack = owned.length === 1 && next.length === 1
  return next.map((lease) => ({
    id: feedRangeId(lease.range),
    owner,
    checkpoint: goesBack ? lease.checkpoint : startOf(lease, owned),
    changedMs: Math.floor(storeTimeUs / 1000),
    ...nextNumbers(head, owned, storeTimeUs),
  }))
}

/** Of leases that replace others: above all epochs, and above every version, so that no etag comes back. */
function nextNumbers(
  { epochFloor }: LeaseGroupState['head'],
  old: readonly LeaseRecord[],
  storeTimeUs: number,
): { readonly epoch: number; readonly version: number } {
  const lastEpoch = Math.max(epochFloor, ...old.map(({ epoch }) => epoch))
  const lastVersion = Math.max(...old.map(({ version }) => version))
  return {
    epoch: Math.max(lastEpoch + 1, storeTimeUs),
    version: Math.max(lastVersion + 1, storeTimeUs),
  }
}

/** Not below what is stored for the old lease that contains the new one. */
function startOf({ range, checkpoint }: NewLease, owned: readonly LeaseRecord[]): Checkpoint {
  const parent = owned.find(({ id }) => {
    const outer = parseFeedRangeId(id)
    return outer !== undefined && rangeContains(outer, range)
  })
  return parent !== undefined && parent.checkpoint.lsn > checkpoint.lsn
    ? parent.checkpoint
    : checkpoint
}

function replacedTargets(
  targets: ReadonlyMap<string, string>,
  oldIds: readonly string[],
  written: readonly LeaseRecord[],
): ReadonlyMap<string, string> {
  const after = new Map(targets)
  for (const id of oldIds) after.delete(id)
  const wanted = new Set(oldIds.map((id) => targets.get(id)))
  const [target] = wanted
  if (wanted.size === 1 && target !== undefined) {
    for (const { id } of written) after.set(id, target)
  }
  return after
}

function acquired(state: LeaseGroupState, record: LeaseRecord): AcquiredLease {
  return { leaseId: record.id, epoch: record.epoch, lease: leaseView(state, record) }
}
