import type {
  BatchAttempts,
  FeedRange,
  HostProfile,
  HostSession,
  HostSummary,
  Lease,
  LeaseGroupSnapshot,
  Lsn,
} from '@tidemark/contracts'

/** A group as its lease store has it. */
export interface GroupStatus {
  readonly group: string
  readonly paused: boolean
  readonly hosts: readonly GroupHost[]
  /** In EPK order. */
  readonly leases: readonly GroupLease[]
}

export interface GroupHost {
  readonly host: string
  readonly profile: HostProfile
  /** What it last told of its work; undefined when it has told nothing yet, or the lease store keeps none. */
  readonly summary: HostSummary | undefined
  /** How many leases it has at present. */
  readonly leases: number
}

export interface GroupLease {
  readonly leaseId: string
  readonly range: FeedRange
  /** The host that works on it; undefined also when its owner's session is over. */
  readonly owner: string | undefined
  /** The host that is to work on it. */
  readonly target: string | undefined
  readonly epoch: number
  readonly lsn: Lsn
  /** Tries of what comes next that failed, if some did. */
  readonly attempts: BatchAttempts | undefined
  /** Epoch ms of the later of its last change and its owner's last heartbeat. */
  readonly timestampMs: number
}

export function groupStatus(
  group: string,
  { paused, hosts, leases }: LeaseGroupSnapshot,
  summaries: readonly HostSummary[],
): GroupStatus {
  const shown = leases
    .map((lease) => groupLease(lease, hosts))
    .sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
  return {
    group,
    paused,
    hosts: hosts.map(({ host, profile }) => ({
      host,
      profile,
      summary: summaries.find((summary) => summary.host === host),
      leases: shown.filter(({ owner }) => owner === host).length,
    })),
    leases: shown,
  }
}

/** The host that owns a lease and whose session is still there. */
export function liveOwner({ owner }: Lease, hosts: readonly HostSession[]): string | undefined {
  const session = hosts.find(({ host }) => host === owner?.host)
  return session?.incarnation === owner?.incarnation ? owner?.host : undefined
}

function groupLease(lease: Lease, hosts: readonly HostSession[]): GroupLease {
  const { id: leaseId, range, target, epoch, checkpoint, timestampMs } = lease
  const owner = liveOwner(lease, hosts)
  const { lsn, attempts } = checkpoint
  return { leaseId, range, owner, target, epoch, lsn, attempts, timestampMs }
}
