import type {
  AcquiredLease,
  CheckpointOutcome,
  CheckpointRequest,
  HeldLease,
  HostIdentity,
  Lease,
  ReconcileReply,
  ReleaseRequest,
} from '@tidemark/contracts'
import {
  applyChanges,
  hasSession,
  leaseView,
  sameIdentity,
  type GroupHead,
  type LeaseGroupState,
  type LeaseGroupStep,
  type LeaseRecord,
} from './lease-group-state.ts'

/** `LeaseGroup.acquire`. Changes nothing of a caller without a session. */
export function acquireLeases(
  state: LeaseGroupState,
  { host, incarnation, leaseIds }: HostIdentity & { readonly leaseIds: readonly string[] },
  storeTimeUs: number,
): LeaseGroupStep<readonly AcquiredLease[]> {
  const caller: HostIdentity = { host, incarnation }
  if (!hasSession(state.head, caller)) return { changes: {}, reply: [] }
  const written = new Map<string, LeaseRecord>()
  const granted: LeaseRecord[] = []
  for (const leaseId of new Set(leaseIds)) {
    const lease = state.leases.get(leaseId)
    if (lease === undefined) continue
    if (sameIdentity(lease.owner, caller)) {
      granted.push(lease)
    } else if (state.targets.get(leaseId) === host && mayTake(state.head, lease, host)) {
      const epoch = Math.max(lease.epoch, state.head.epochFloor) + 1
      const taken = changed(lease, storeTimeUs, {
        owner: caller,
        epoch: Math.max(epoch, storeTimeUs),
      })
      written.set(leaseId, taken)
      granted.push(taken)
    }
  }
  const changes = written.size > 0 ? { leases: written } : {}
  const after = applyChanges(state, changes)
  return {
    changes,
    reply: granted.map((record) => ({
      leaseId: record.id,
      epoch: record.epoch,
      lease: leaseView(after, record),
    })),
  }
}

/**
 * `LeaseGroup.checkpoint`. Needs only the lease records: authority is (epoch, host, incarnation), so
 * an owner whose session expired may still checkpoint as long as nobody took the lease.
 */
export function checkpointLeases(
  leases: ReadonlyMap<string, LeaseRecord>,
  request: HostIdentity & { readonly checkpoints: readonly CheckpointRequest[] },
  storeTimeUs: number,
): LeaseGroupStep<readonly CheckpointOutcome[]> {
  const written = new Map<string, LeaseRecord>()
  const reply = request.checkpoints.map(({ leaseId, epoch, checkpoint }): CheckpointOutcome => {
    const lease = written.get(leaseId) ?? leases.get(leaseId)
    if (lease === undefined || !owns(lease, request, epoch)) return 'lost'
    if (checkpoint.lsn < lease.checkpoint.lsn) return 'regress'
    written.set(leaseId, changed(lease, storeTimeUs, { checkpoint }))
    return 'stored'
  })
  return { changes: written.size > 0 ? { leases: written } : {}, reply }
}

/** `LeaseGroup.release`. Needs only the lease records. The epoch stays, so that the next one is higher. */
export function releaseLeases(
  leases: ReadonlyMap<string, LeaseRecord>,
  request: HostIdentity & { readonly releases: readonly ReleaseRequest[] },
  storeTimeUs: number,
): LeaseGroupStep<readonly ('released' | 'lost')[]> {
  const written = new Map<string, LeaseRecord>()
  const reply = request.releases.map(({ leaseId, epoch, checkpoint, aboveEpoch = 0 }) => {
    const lease = written.get(leaseId) ?? leases.get(leaseId)
    if (lease === undefined || !owns(lease, request, epoch)) return 'lost'
    const last =
      checkpoint !== undefined && checkpoint.lsn >= lease.checkpoint.lsn
        ? checkpoint
        : lease.checkpoint
    const raised = Math.max(lease.epoch, aboveEpoch)
    const free = { owner: undefined, epoch: raised, checkpoint: last }
    written.set(leaseId, changed(lease, storeTimeUs, free))
    return 'released'
  })
  return {
    changes: written.size > 0 ? { leases: written, hints: ['released'] } : {},
    reply,
  }
}

/** `LeaseGroup.reconcile`. */
export function reconcileLeases(
  state: LeaseGroupState,
  request: HostIdentity & { readonly held: readonly (HeldLease & { readonly lsn: number })[] },
): ReconcileReply {
  const held = new Map(request.held.map((lease) => [lease.leaseId, lease]))
  const unknownToHost: Lease[] = []
  for (const lease of [...state.leases.values()].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    if (sameIdentity(lease.owner, request) && held.get(lease.id)?.epoch !== lease.epoch) {
      unknownToHost.push(leaseView(state, lease))
    }
  }
  const lost: string[] = []
  const behind: string[] = []
  for (const { leaseId, epoch, lsn } of held.values()) {
    const lease = state.leases.get(leaseId)
    if (lease === undefined || !owns(lease, request, epoch)) lost.push(leaseId)
    else if (lease.checkpoint.lsn < lsn) behind.push(leaseId)
  }
  return { unknownToHost, lost, behind }
}

/** Free, or owned by a session that is gone, or by an earlier life of the same host. */
function mayTake(head: GroupHead, { owner }: LeaseRecord, host: string): boolean {
  return owner === undefined || owner.host === host || !hasSession(head, owner)
}

function owns(lease: LeaseRecord, caller: HostIdentity, epoch: number): boolean {
  return lease.epoch === epoch && sameIdentity(lease.owner, caller)
}

function changed(
  lease: LeaseRecord,
  storeTimeUs: number,
  fields: Partial<Pick<LeaseRecord, 'owner' | 'epoch' | 'checkpoint'>>,
): LeaseRecord {
  return {
    ...lease,
    ...fields,
    changedMs: Math.floor(storeTimeUs / 1000),
    version: lease.version + 1,
  }
}
