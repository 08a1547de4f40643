import { type DocumentBody, type Logger } from '@tidemark/contracts'
import { option, stderrLogger, type OptionRules } from '@tidemark/contracts/internal'
import type { ChangeFeedProcessorHost } from '@tidemark/processor'

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

/** How a job tells of trouble: as events, in a log, or both. */
export interface TellingOptions<Event> {
  /** Gets each event of the job, in the process where it happens. @default nothing */
  readonly onEvent?: ((event: Event) => void) | undefined
  /**
   * As of a host. @default the standard error output, for everything without `onEvent`, else for what is no event
   */
  readonly logger?: Logger | false | undefined
}

/** For the other options of a job. */
export const tellingRules: OptionRules<TellingOptions<never>> = {
  onEvent: option.function,
  logger: option.logger,
}

/** The logger of a job's hosts. */
export function jobLogger({ onEvent, logger }: TellingOptions<never>): Logger | false | undefined {
  return logger ?? (onEvent === undefined ? stderrLogger : undefined)
}

/** Tells a host's events in the terms of jobs. */
export function relayHostEvents<S extends DocumentBody>(
  host: ChangeFeedProcessorHost<S>,
  emit: (event: WorkerEvent) => void,
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
  host.on('horizonPassed', ({ error, action }) => {
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
