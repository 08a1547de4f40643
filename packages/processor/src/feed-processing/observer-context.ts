import {
  damageIn,
  lsn as checkedLsn,
  type Change,
  type HeldLease,
  type Lease,
  type Lsn,
  type ObserverContext,
} from '@tidemark/contracts'

export interface ContextParts {
  /** Of the last change of the batch; undefined where there is none. */
  readonly lsn: Lsn | undefined
  readonly attempt: number
  readonly redriven: boolean
  readonly signal: AbortSignal
  /** That the observer has in hand. */
  readonly changes: readonly Change[]
  readonly checkpoint: () => Promise<void>
}

/** What an observer is told with each call. */
export function observerContext(
  { held, lease, generation }: { held: HeldLease; lease: Lease; generation: string },
  { hostName, group }: { hostName: string; group: string },
  { lsn, attempt, redriven, signal, changes, checkpoint }: ContextParts,
): ObserverContext {
  return {
    hostName,
    group,
    leaseId: held.leaseId,
    range: lease.range,
    fence: { generation, epoch: held.epoch, lsn: lsn ?? checkedLsn(0) },
    signal,
    attempt,
    redriven,
    checkpoint: async () => {
      const damage = damageIn(changes)
      if (damage !== undefined) throw damage.error
      await checkpoint()
    },
  }
}
