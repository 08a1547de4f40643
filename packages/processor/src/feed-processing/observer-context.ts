import {
  lsn,
  type Checkpoint,
  type HeldLease,
  type Lease,
  type ObserverContext,
} from '@tidemark/contracts'

export interface ContextParts {
  /** End of the batch; undefined where there is none. */
  readonly at: Checkpoint | undefined
  readonly attempt: number
  readonly signal: AbortSignal
  readonly checkpoint: () => Promise<void>
}

/** What an observer is told with each call. */
export function observerContext(
  { held, lease, generation }: { held: HeldLease; lease: Lease; generation: string },
  { hostName, group }: { hostName: string; group: string },
  { at, attempt, signal, checkpoint }: ContextParts,
): ObserverContext {
  return {
    hostName,
    group,
    leaseId: held.leaseId,
    range: lease.range,
    fence: { generation, epoch: held.epoch, lsn: at?.lsn ?? lsn(0) },
    signal,
    attempt,
    checkpoint,
  }
}
