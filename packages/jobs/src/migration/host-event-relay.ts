import type { DocumentBody } from '@tidemark/contracts'
import type { ChangeFeedProcessorHost } from '@tidemark/processor'
import type { MigrationEvent } from './migration-events.ts'

/** Tells a host's events in a migration's terms. */
export function relayHostEvents<S extends DocumentBody>(
  host: ChangeFeedProcessorHost<S>,
  emit: (event: MigrationEvent) => void,
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
  host.on('feedError', ({ error }) => {
    emit({ kind: 'failure', what: 'feed', error })
  })
  host.on('leaseStoreUnavailable', ({ error }) => {
    emit({ kind: 'failure', what: 'leaseStore', error })
  })
}
