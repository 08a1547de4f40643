import {
  lsn as checkedLsn,
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
  readonly checkpoint: () => Promise<void>
}

/** What an observer is told with each call. */
export function observerContext(
  { held, lease, generation }: { held: HeldLease; lease: Lease; generation: string },
  { hostName, group }: { hostName: string; group: string },
  { lsn, attempt, redriven, signal, checkpoint }: ContextParts,
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
    checkpoint,
  }
}
