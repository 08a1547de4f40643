import type { Lsn } from '@tidemark/contracts'

/** Where a host is between its construction and its end. */
export type HostStatus =
  /** Constructed. */
  | 'idle'
  | 'starting'
  /** Joined, and the session is valid. */
  | 'running'
  /** The lease store does not answer, an observer or the feed keeps failing, or a sink refuses the epoch of a lease. */
  | 'degraded'
  /** The lease store has lost its data; nothing is dispatched until there are leases again. */
  | 'recovering'
  /** The session can no longer be relied on; nothing is dispatched until the host has joined again. */
  | 'fenced'
  | 'stopping'
  | 'stopped'

export interface LeaseHealth {
  readonly leaseId: string
  readonly epoch: number
  /**
   * `replacing`: leases of a split or merged range are about to replace it. `fenced`: a sink refuses its epoch; the
   * host pauses it, and then releases it to acquire it with a new epoch.
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
  /** The stored position. */
  readonly checkpointLsn: Lsn
  /** End of the last batch that was processed; undefined before the first. */
  readonly processedLsn: Lsn | undefined
  /** Whether everything that was there at the last read of the range is processed. */
  readonly caughtUp: boolean
  /** The LSN up to which nothing is left to do: when caught up, as far as the range was read; else `processedLsn`. */
  readonly doneLsn: Lsn | undefined
  /** Number of changes that the observer has processed since this host acquired the lease. */
  readonly changes: number
  /** Number of calls of `processChanges` that succeeded. */
  readonly batches: number
  /** Wall time of the last of them, epoch ms; undefined before the first. */
  readonly lastProgressMs: number | undefined
  /**
   * How long the range has made no progress: since the last read or the last success, or since the feed began to
   * fail. 0 when it is caught up. Use it for alerts, together with `lastError`.
   */
  readonly noProgressForMs: number
  /** Of the batch in flight, or the batch to retry; 0 when there is none. */
  readonly attempt: number
  /** How long the observer's current call has been running; undefined without a call. */
  readonly inFlightMs: number | undefined
  /** Of the observer or of the feed; undefined after the next success. */
  readonly lastError: unknown
}

/** The state of a host at one moment. To get it costs no I/O. */
export interface HostHealth {
  readonly status: HostStatus
  readonly hostName: string
  readonly group: string
  readonly leases: readonly LeaseHealth[]
  /** How long the session certainly lasts without another heartbeat; undefined without a session. */
  readonly sessionValidForMs: number | undefined
  readonly leaseStoreAvailable: boolean
  /** Leases that no host can take. */
  readonly unownedRanges: readonly string[]
  /** It stopped by itself, with `lastError`: it needs a new one. */
  readonly hasFailed: boolean
  /** Why the host stopped, or the last failure of the lease store or of a listener. */
  readonly lastError: unknown
}
