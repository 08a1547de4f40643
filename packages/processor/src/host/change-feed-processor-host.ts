import { HostStoppedError, type DocumentBody } from '@tidemark/contracts'
import {
  observerFactory,
  type ObserverClassOrInstance,
  type ObserverFactory,
} from '../observers/observer-factory.ts'
import type { HostEventListener, HostEventName } from './host-events.ts'
import type { HostHealth } from './host-health.ts'
import type { ChangeFeedProcessorHostOptions } from './host-options.ts'
import { resolveHostOptions, type ResolvedHostOptions } from './resolve-host-options.ts'

/** One worker of a processor group. */
export class ChangeFeedProcessorHost<T extends DocumentBody = DocumentBody> {
  readonly #options: ResolvedHostOptions<T>

  constructor(options: ChangeFeedProcessorHostOptions<T>) {
    this.#options = resolveHostOptions(options)
  }

  registerObserver(observer: ObserverClassOrInstance<T>): Promise<void> {
    return this.registerObserverFactory(observerFactory(observer))
  }

  async registerObserverFactory(_factory: ObserverFactory<T>): Promise<void> {
    throw new HostStoppedError('under construction')
  }

  async unregisterObservers(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unregisterObservers()
  }

  on<Name extends HostEventName>(_name: Name, _listener: HostEventListener<Name>): this {
    return this
  }

  once<Name extends HostEventName>(_name: Name, _listener: HostEventListener<Name>): this {
    return this
  }

  off<Name extends HostEventName>(_name: Name, _listener: HostEventListener<Name>): this {
    return this
  }

  health(): HostHealth {
    return {
      status: 'idle',
      hostName: this.#options.hostName,
      group: this.#options.group,
      leases: [],
      sessionValidForMs: undefined,
      leaseStoreAvailable: true,
      unownedRanges: [],
      lastError: undefined,
    }
  }
}
