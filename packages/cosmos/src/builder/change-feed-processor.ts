import type { DocumentBody } from '@tidemark/contracts'
import {
  ChangeFeedProcessorHost,
  type ChangeFeedProcessorHostOptions,
  type HostHealth,
  type ObserverFunction,
} from '@tidemark/processor'

/** What a builder listens for, by the events of the host. */
export interface ProcessorNotifications {
  readonly onError: ErrorNotification | undefined
  readonly onLeaseAcquired: LeaseNotification | undefined
  readonly onLeaseReleased: LeaseNotification | undefined
}

/** `leaseToken`: `min-max` of the lease's keys; undefined when the error is of the whole processor. */
export type ErrorNotification = (leaseToken: string | undefined, error: unknown) => void

/** `leaseToken`: `min-max` of the lease's keys. */
export type LeaseNotification = (leaseToken: string) => void

/** A processor of one process, as `build` makes it. It can be started again after it was stopped, with a new host each time. */
export class ChangeFeedProcessor<T extends DocumentBody = DocumentBody> implements AsyncDisposable {
  readonly #options: ChangeFeedProcessorHostOptions<T>
  readonly #observe: ObserverFunction<T>
  readonly #notifications: ProcessorNotifications
  #host: ChangeFeedProcessorHost<T>
  #isUsed = false

  /** Starts nothing. @throws as `ChangeFeedProcessorHost` */
  constructor(
    options: ChangeFeedProcessorHostOptions<T>,
    {
      observe,
      notifications,
    }: { readonly observe: ObserverFunction<T>; readonly notifications: ProcessorNotifications },
  ) {
    this.#options = options
    this.#observe = observe
    this.#notifications = notifications
    this.#host = this.#newHost()
  }

  /** The host that works for this processor, with everything that it can do beyond V3. Another one after a new start. */
  get host(): ChangeFeedProcessorHost<T> {
    return this.#host
  }

  /** Starts. Resolves and rejects as `ChangeFeedProcessorHost.registerObserver`; ERR_INVALID_OPTION when it is running. */
  async start(): Promise<void> {
    if (this.#isUsed && this.#host.health().status === 'stopped') this.#host = this.#newHost()
    this.#isUsed = true
    await this.#host.registerObserver(this.#observe)
  }

  /** Lets the calls in flight finish, stores their positions and gives the leases back. Can be called again. */
  async stop(): Promise<void> {
    if (this.#isUsed) await this.#host.unregisterObservers()
  }

  health(): HostHealth {
    return this.#host.health()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #newHost(): ChangeFeedProcessorHost<T> {
    const host = new ChangeFeedProcessorHost<T>(this.#options)
    const { onError, onLeaseAcquired, onLeaseReleased } = this.#notifications
    if (onLeaseAcquired !== undefined) {
      host.on('leaseAcquired', ({ leaseId }) => onLeaseAcquired(leaseId))
    }
    if (onLeaseReleased !== undefined) {
      host.on('leaseReleased', ({ leaseId }) => onLeaseReleased(leaseId))
      host.on('leaseLost', ({ leaseId }) => onLeaseReleased(leaseId))
    }
    if (onError !== undefined) {
      for (const name of LEASE_ERRORS) {
        host.on(name, ({ leaseId, error }) => onError(leaseId, error))
      }
      host.on('leaseStoreUnavailable', ({ error }) => onError(undefined, error))
      host.on('stopped', ({ error }) => {
        if (error !== undefined) onError(undefined, error)
      })
    }
    return host
  }
}

/** Events with an error of one lease. */
const LEASE_ERRORS = [
  'observerError',
  'observerStuck',
  'feedError',
  'rangeHalted',
  'horizonPassed',
  'deadLetterFailed',
] as const
