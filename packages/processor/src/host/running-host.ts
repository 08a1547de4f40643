import PQueue from 'p-queue'
import {
  HostStoppedError,
  LeaseStoreUnavailableError,
  type DocumentBody,
  type LeaseGroup,
} from '@tidemark/contracts'
import { prepareLeases } from '../bootstrapping/prepare-leases.ts'
import { retryUntil } from '../bootstrapping/start-retry.ts'
import type { ObserverFactory } from '../observers/observer-factory.ts'
import type { HostEventName, HostEvents } from './host-events.ts'
import type { HostStatus, LeaseHealth } from './host-health.ts'
import { HostLife } from './host-life.ts'
import type { ResolvedHostOptions } from './resolve-host-options.ts'

export interface RunningHostOptions<T extends DocumentBody> {
  readonly options: ResolvedHostOptions<T>
  readonly createObserver: ObserverFactory<T>
  /** Must not throw. */
  readonly emit: <Name extends HostEventName>(name: Name, event: HostEvents[Name]) => void
}

/** What runs between `registerObserver` and the end. */
export class RunningHost<T extends DocumentBody> {
  readonly #options: ResolvedHostOptions<T>
  readonly #parts: RunningHostOptions<T>
  readonly #queue: PQueue
  readonly #starting = new AbortController()
  readonly #joined = Promise.withResolvers<void>()
  #life: HostLife<T> | undefined

  constructor(parts: RunningHostOptions<T>) {
    this.#parts = parts
    this.#options = parts.options
    this.#queue = new PQueue({ concurrency: parts.options.maxConcurrentObservers })
  }

  get status(): HostStatus {
    const status = this.#life?.status
    switch (status) {
      case undefined:
      case 'new':
      case 'joining':
        return 'starting'
      case 'joined':
        return this.leases().some(({ lastError }) => lastError !== undefined)
          ? 'degraded'
          : 'running'
      case 'suspect':
        return 'degraded'
      case 'fenced':
        return 'fenced'
      case 'draining':
        return 'stopping'
      case 'ended':
        return 'stopped'
    }
  }

  get lastError(): unknown {
    return this.#life?.lastError
  }

  get storeAvailable(): boolean {
    return this.#life?.storeAvailable ?? true
  }

  get unowned(): readonly string[] {
    return this.#life?.unowned ?? []
  }

  get sessionValidForMs(): number | undefined {
    return this.#life?.sessionValidForMs
  }

  leases(): readonly LeaseHealth[] {
    return this.#life?.leases() ?? []
  }

  /** Resolves when this host has joined and the leases exist. When it rejects, nothing is left running. */
  async start(): Promise<void> {
    const { clock, random, startTimeoutMs: timeoutMs } = this.#options
    const deadlineMs = clock.monotonicMs() + timeoutMs
    const { signal } = this.#starting
    try {
      const group = await retryUntil(
        (attemptSignal) => this.#prepare(attemptSignal),
        { clock, random, deadlineMs, timeoutMs },
        signal,
      )
      const life = this.#newLife(group)
      this.#life = life
      signal.throwIfAborted()
      life.start()
      await this.#untilJoined(life, deadlineMs)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Drains, checkpoints, releases, leaves; resolves when nothing is left running. May be repeated. */
  async stop(): Promise<void> {
    this.#starting.abort(new HostStoppedError(`host ${this.#options.hostName} was stopped`))
    this.#life?.leave()
    await this.ended()
  }

  /** Resolves with the reason when the host has ended, by itself or by `stop`. */
  async ended(): Promise<{ readonly error: Error | undefined }> {
    return (await this.#life?.ended()) ?? { error: undefined }
  }

  /** Opens the group and makes its leases. Each attempt has a group of its own, and closes it if it fails. */
  async #prepare(signal: AbortSignal): Promise<LeaseGroup> {
    const { leases, group: name, feed, start, mode, ...options } = this.#options
    const { partitionKeyRangeId, discardToken } = options
    const group = await leases.openGroup(name, signal)
    try {
      signal.throwIfAborted()
      await prepareLeases({ feed, group, start, mode, partitionKeyRangeId, discardToken }, signal)
      signal.throwIfAborted()
      return group
    } catch (error) {
      await group.close()
      throw error
    }
  }

  #newLife(group: LeaseGroup): HostLife<T> {
    const { createObserver, emit } = this.#parts
    return new HostLife({
      options: this.#options,
      group,
      createObserver,
      queue: this.#queue,
      emit,
      onJoined: () => this.#joined.resolve(),
    })
  }

  async #untilJoined(life: HostLife<T>, deadlineMs: number): Promise<void> {
    const { clock, startTimeoutMs } = this.#options
    const over = new AbortController()
    const signal = AbortSignal.any([this.#starting.signal, over.signal])
    const timedOut = clock.sleep(Math.max(0, deadlineMs - clock.monotonicMs()), signal).then(() => {
      throw new LeaseStoreUnavailableError(
        `the host could not join its group within ${startTimeoutMs} ms`,
        { cause: life.lastError },
      )
    })
    const stopped = life.ended().then(({ error }) => {
      throw error ?? new HostStoppedError(`host ${this.#options.hostName} was stopped`)
    })
    // The race may be over before.
    stopped.catch(() => {})
    try {
      await Promise.race([this.#joined.promise, stopped, timedOut])
    } finally {
      over.abort()
    }
  }
}
