import type { DocumentBody, Logger } from '@tidemark/contracts'
import { stderrLogger } from '@tidemark/contracts/internal'
import { ChangeFeedProcessorHost, type ChangeFeedProcessorHostOptions } from '@tidemark/processor'
import { DEFAULT_PAGE_ITEMS, type JobOptions } from './job-options.ts'

export interface RangeEventBase {
  /** Id of the range and of its lease. */
  readonly leaseId: string
  readonly epoch: number
}

/** What any job tells about the ranges that a process works on. Branch on `kind`. */
export type WorkerEvent =
  /** This process works on a range of the source from now on. */
  | ({ readonly kind: 'rangeAcquired' } & RangeEventBase)
  /** Handed over, or given back at `stop`. Nothing is done twice. */
  | ({ readonly kind: 'rangeReleased' } & RangeEventBase)
  /** Another worker goes on with it, or will. */
  | ({ readonly kind: 'rangeLost' } & RangeEventBase)
  /** A batch, the feed, the lease store or a report failed. It is tried again, for ever. */
  | {
      readonly kind: 'failure'
      /** `position`: the source could not be told how far the group is, so that purges wait longer. */
      readonly what: 'batch' | 'feed' | 'leaseStore' | 'position'
      readonly error: unknown
    }
  /** This worker ended by itself. Nothing of it is tried again. */
  | { readonly kind: 'failure'; readonly what: 'worker'; readonly error: unknown }

/** Changes were purged before this group had read them. `halt`: the range stops there; `resync`: it is read from the beginning. */
export type Missed = {
  readonly kind: 'missed'
  readonly lsn: number
  readonly horizon: number
  readonly action: 'halt' | 'resync'
} & RangeEventBase

/** The logger of a job's hosts. */
export function jobLogger({
  onEvent,
  logger,
}: Pick<JobOptions<never>, 'onEvent' | 'logger'>): Logger | false | undefined {
  return logger ?? (onEvent === undefined ? stderrLogger : undefined)
}

/** What a host works on for its job. */
export interface JobWork<T extends DocumentBody> extends Pick<
  ChangeFeedProcessorHostOptions<T>,
  'group' | 'feed' | 'feedOptions' | 'hostOptions' | 'deadLetters'
> {
  /** Gets the host's events, in the terms of jobs. */
  readonly emit: (event: WorkerEvent) => void
  readonly missed?: ((missed: Missed) => void) | undefined
}

/** A host of a job, which has not started. */
export function jobHost<T extends DocumentBody>(
  options: JobOptions<never>,
  { emit, missed, feedOptions, ...work }: JobWork<T>,
): ChangeFeedProcessorHost<T> {
  const { leases, hostName, hostOptions, clock, random } = options
  const logger = jobLogger(options)
  const host = new ChangeFeedProcessorHost<T>({
    leases,
    hostName,
    hostOptions,
    logger,
    clock,
    random,
    ...work,
    // Jobs tell themselves of deletes that they do not see.
    feedOptions: { maxItemCount: DEFAULT_PAGE_ITEMS, mode: 'latestVersion', ...feedOptions },
  })
  relayHostEvents(host, { emit, missed })
  return host
}

function relayHostEvents<S extends DocumentBody>(
  host: ChangeFeedProcessorHost<S>,
  { emit, missed }: Pick<JobWork<S>, 'emit' | 'missed'>,
): void {
  host.on('leaseAcquired', ({ leaseId, epoch }) => {
    emit({ kind: 'rangeAcquired', leaseId, epoch })
  })
  host.on('leaseReleased', ({ leaseId, epoch }) => {
    emit({ kind: 'rangeReleased', leaseId, epoch })
  })
  host.on('leaseLost', ({ leaseId, epoch }) => {
    emit({ kind: 'rangeLost', leaseId, epoch })
  })
  host.on('observerError', ({ error }) => {
    emit({ kind: 'failure', what: 'batch', error })
  })
  host.on('leaseFenced', ({ error }) => {
    emit({ kind: 'failure', what: 'batch', error })
  })
  host.on('feedError', ({ error }) => {
    emit({ kind: 'failure', what: 'feed', error })
  })
  host.on('horizonPassed', ({ leaseId, epoch, lsn, horizon, error, action }) => {
    missed?.({ kind: 'missed', leaseId, epoch, lsn, horizon, action })
    if (action === 'halt') emit({ kind: 'failure', what: 'feed', error })
  })
  host.on('leaseStoreUnavailable', ({ error }) => {
    emit({ kind: 'failure', what: 'leaseStore', error })
  })
  host.on('positionReportFailed', ({ error }) => {
    emit({ kind: 'failure', what: 'position', error })
  })
  host.on('stopped', ({ error }) => {
    if (error !== undefined) emit({ kind: 'failure', what: 'worker', error })
  })
}
