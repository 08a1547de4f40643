import type { Lsn } from '@tidemark/contracts'

export type HostStatus =
  /** Constructed. */
  | 'idle'
  | 'starting'
  /** Joined, and the session is valid. */
  | 'running'
  /** The lease store does not answer, an observer or the feed keeps failing, or a sink refuses the epoch of a lease. */
  | 'degraded'
  /** The lease store lost its data; nothing is dispatched until there are leases again. */
  | 'recovering'
  /** The session can not be relied on; nothing is dispatched until the host has re-joined. */
  | 'fenced'
  | 'stopping'
  | 'stopped'

export interface LeaseHealth {
  readonly leaseId: string
  readonly epoch: number
  /**
   * `replacing`: leases of a split or merged range are about to come in its place. `fenced`: a sink refuses its epoch; it is
   * not worked on, and given back after a while, to be got at a new one.
   */
  readonly state:
    | 'waiting'
    | 'running'
    | 'draining'
    | 'aborting'
    | 'releasing'
    | 'replacing'
    | 'rangeGone'
    | 'fenced'
  /** Position that is stored. */
  readonly checkpointLsn: Lsn
  /** End of the last batch that was processed; undefined before the first. */
  readonly processedLsn: Lsn | undefined
  /** Whether all that was there when the range was last read is processed. */
  readonly caughtUp: boolean
  /** Up to where nothing is left to do: as far as the range was read, when caught up; else `processedLsn`. */
  readonly doneLsn: Lsn | undefined
  /** Changes that the observer has accepted since this host got the lease. */
  readonly changes: number
  /** Calls of `processChanges` in which it did. */
  readonly batches: number
  /** Wall time of the last of them, epoch ms; undefined before the first. */
  readonly lastProgressMs: number | undefined
  /**
   * How long the range has not come forward: since something was last read or accepted, or since the feed began to
   * fail. 0 when it is caught up. Together with `lastError` what an alarm should look at.
   */
  readonly noProgressForMs: number
  /** Of the batch in flight or to be tried again; 0 when there is none. */
  readonly attempt: number
  /** How long the observer's present call has been running; undefined when none is. */
  readonly inFlightMs: number | undefined
  /** Of the observer or of the feed; undefined after the next success. */
  readonly lastError: unknown
}

/** A picture of a host at one moment. Taking it costs no I/O. */
export interface HostHealth {
  readonly status: HostStatus
  readonly hostName: string
  readonly group: string
  readonly leases: readonly LeaseHealth[]
  /** How long the session is certain to last without another heartbeat; undefined without a session. */
  readonly sessionValidForMs: number | undefined
  readonly leaseStoreAvailable: boolean
  /** Leases that no host may take. */
  readonly unownedRanges: readonly string[]
  /** Why the host stopped by itself, or the last failure of the lease store or of a listener. */
  readonly lastError: unknown
}
