import { EventEmitter } from 'eventemitter3'
import {
  HostStoppedError,
  InvalidOptionError,
  describeValue,
  type DocumentBody,
} from '@tidemark/contracts'
import type { CatchUpOptions } from '../estimation/change-feed-estimator.ts'
import {
  checkedObserver,
  isModule,
  observerFactory,
  type ObserverFactory,
  type RegisteredObserver,
} from '../observers/observer-factory.ts'
import { resolveObserverModule } from '../observers/threads/observer-module.ts'
import { ObserverThreads } from '../observers/threads/observer-threads.ts'
import { startObserverThread } from '../observers/threads/platform/start-observer-thread.ts'
import type { HostEventListener, HostEventName, HostEvents } from './host-events.ts'
import type { HostHealth, HostStatus } from './host-health.ts'
import { HostLog } from './host-log.ts'
import type { ChangeFeedProcessorHostOptions } from './host-options.ts'
import { stderrLogger } from './platform/stderr-logger.ts'
import { resolveHostOptions, type ResolvedHostOptions } from './resolve-host-options.ts'
import { runUntilCaughtUp, type CaughtUpRun } from './run-until-caught-up.ts'
import { RunningHost } from './running-host.ts'

/**
 * One worker of a processor group: shares the ranges of a feed with the group's other hosts by leases,
 * reads its ranges and hands their changes to observers, at least once and in order per key (PH-1).
 *
 * One host has one life: it is constructed, observers are registered once, then unregistered.
 */
export class ChangeFeedProcessorHost<T extends DocumentBody = DocumentBody> {
  readonly #options: ResolvedHostOptions<T>
  /** Typed by `on`, `once`, `off` and `#emit`. */
  readonly #emitter = new EventEmitter()
  /** Undefined = nothing is logged. */
  readonly #log: HostLog | undefined
  /** Without a logger of the program's, what it listens to is not logged as well. */
  readonly #logsHeard: boolean
  #phase: 'idle' | 'active' | 'stopping' | 'stopped' = 'idle'
  /** Ends the wait for a module that is being loaded. */
  readonly #loading = new AbortController()
  #running: RunningHost<T> | undefined
  #ending: Promise<void> | undefined
  #lastError: unknown

  /**
   * Starts nothing.
   *
   * @throws ERR_INVALID_OPTION naming the option
   * @throws ERR_LEASE_STORAGE when the leases would be kept in the monitored collection (LE-2)
   */
  constructor(options: ChangeFeedProcessorHostOptions<T>) {
    this.#options = resolveHostOptions(options)
    const { logger = stderrLogger } = options
    this.#log = logger === false ? undefined : new HostLog({ ...this.#options, logger })
    this.#logsHeard = options.logger !== undefined
  }

  get hostName(): string {
    return this.#options.hostName
  }

  get group(): string {
    return this.#options.group
  }

  /**
   * Begins to work. A class makes one observer for each lease, a function or an instance is shared by all of them; a module
   * makes one for each lease in one of so many worker threads (PH-13). See `registerObserverFactory`.
   *
   * What is no observer, and a module that cannot be loaded or exports no factory, is ERR_INVALID_OPTION.
   */
  async registerObserver(observer: RegisteredObserver<T>): Promise<void> {
    if (!isModule(observer)) {
      await this.#begin(observerFactory(observer))
      return
    }
    const { clock, startTimeoutMs, abortGraceMs: graceMs } = this.#options
    const module = resolveObserverModule(observer, this.#options)
    const threads = new ObserverThreads({
      module,
      startThread: (listener) => startObserverThread(module, listener),
      clock,
      startTimeoutMs,
      graceMs,
      onThreadEnd: (error, leaseIds) => this.#emit('observerThreadEnded', { error, leaseIds }),
    })
    await this.#begin(() => threads.forLease<T>().createObserver(), threads)
  }

  /**
   * Begins to work: resolves when this host has joined the group and the leases exist with their
   * start positions, so that nothing written from then on is missed. Leases come shortly after.
   *
   * Stores that do not answer are tried again for `startTimeoutMs`. When it rejects, nothing is left
   * running: ERR_LEASE_STORE_UNAVAILABLE, ERR_LEASE_STORAGE, ERR_INVALID_CONTINUATION or
   * ERR_INVALID_OPTION (`partitionKeyRangeId`), the feed's own error, or ERR_HOST_STOPPED when
   * `unregisterObservers` came first or the host had been used before. Of a group whose leases were lost it
   * resolves when they are made anew, `leaseExpirationIntervalMs` later, or rejects with ERR_LEASES_VANISHED.
   */
  async registerObserverFactory(createObserver: ObserverFactory<T>): Promise<void> {
    if (typeof createObserver !== 'function') {
      throw new InvalidOptionError(
        `createObserver must be a function that makes an observer, got ${describeValue(createObserver)}`,
      )
    }
    await this.#begin(() => checkedObserver(createObserver()))
  }

  /**
   * For jobs and tests: works until the group has processed everything that is in the feed now, whichever of its
   * hosts do it, then stops gracefully and resolves with what this one did. A new group without `startFromBeginning`
   * begins now, and has nothing to do.
   *
   * What this host's observers accepted counts at once, what other hosts' did when its position is stored. Failures
   * are tried again until time is up. When it rejects, the host has stopped gracefully too, which comes on top of
   * `timeoutMs`: with ERR_NOT_CAUGHT_UP, whose cause is what failed last, when time is up, and at once when a range of
   * this host is halted or was purged of what the group had not read; with the signal's reason; as `registerObserver`
   * does; with what the host ended of by itself.
   */
  async runUntilCaughtUp(
    observer: RegisteredObserver<T>,
    { timeoutMs, signal }: CatchUpOptions = {},
  ): Promise<CaughtUpRun> {
    this.#assertUnused()
    signal?.throwIfAborted()
    return runUntilCaughtUp(this, observer, { options: this.#options, timeoutMs, signal })
  }

  /**
   * Stops gracefully (PH-11): reads no more, lets the batches in flight finish for up to
   * `shutdownTimeoutMs`, stores the positions, gives the leases back, closes the observers, leaves.
   * Resolves when nothing is left running. May be repeated.
   */
  async unregisterObservers(): Promise<void> {
    if (this.#phase === 'idle') this.#phase = 'stopped'
    if (this.#phase === 'active') this.#phase = 'stopping'
    this.#loading.abort(new HostStoppedError(`host ${this.hostName} was stopped`))
    await this.#running?.stop()
    await this.#ending
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unregisterObservers()
  }

  /**
   * Calls `listener` on each event of that name. Listeners run in between the host's own work, so
   * they should be short. What one throws shows as `health().lastError` and disturbs nothing else.
   */
  on<Name extends HostEventName>(name: Name, listener: HostEventListener<Name>): this {
    this.#emitter.on(name, listener)
    return this
  }

  once<Name extends HostEventName>(name: Name, listener: HostEventListener<Name>): this {
    this.#emitter.once(name, listener)
    return this
  }

  off<Name extends HostEventName>(name: Name, listener: HostEventListener<Name>): this {
    this.#emitter.off(name, listener)
    return this
  }

  health(): HostHealth {
    const running = this.#running
    return {
      status: this.#status(),
      hostName: this.hostName,
      group: this.group,
      leases: running?.leases() ?? [],
      sessionValidForMs: running?.sessionValidForMs,
      leaseStoreAvailable: running?.storeAvailable ?? true,
      unownedRanges: running?.unowned ?? [],
      lastError: this.#lastError ?? running?.lastError,
    }
  }

  #status(): HostStatus {
    if (this.#phase !== 'active') return this.#phase
    return this.#running?.status ?? 'starting'
  }

  async #begin(createObserver: ObserverFactory<T>, threads?: ObserverThreads): Promise<void> {
    this.#assertUnused()
    this.#phase = 'active'
    const running = new RunningHost<T>({
      options: this.#options,
      createObserver,
      threads,
      emit: (name, event) => this.#emit(name, event),
    })
    this.#running = running
    const started = this.#start(running, threads)
    // Also told of an end that nobody asked for.
    this.#ending = this.#watch(started, { running, threads })
    await started
  }

  #assertUnused(): void {
    if (this.#phase === 'active') {
      throw new InvalidOptionError(`host ${this.hostName} has its observers already`)
    }
    if (this.#phase !== 'idle') {
      throw new HostStoppedError(`host ${this.hostName} was stopped; make a new one`)
    }
  }

  async #start(running: RunningHost<T>, threads: ObserverThreads | undefined): Promise<void> {
    try {
      await threads?.load(this.#loading.signal)
      await running.start()
    } catch (error) {
      await threads?.stop()
      throw error
    }
  }

  async #watch(
    started: Promise<void>,
    { running, threads }: { running: RunningHost<T>; threads: ObserverThreads | undefined },
  ): Promise<void> {
    let failure: unknown
    try {
      await started
    } catch (error) {
      // A start that was broken off on request did not fail.
      if (this.#phase === 'active') failure = error
    }
    const { error = failure } = await running.ended()
    await threads?.stop()
    this.#phase = 'stopped'
    if (error !== undefined) this.#lastError = error
    // A start that failed is told by its rejection.
    this.#emit('stopped', { error }, failure === undefined ? { error } : { error: undefined })
  }

  #emit<Name extends HostEventName>(
    name: Name,
    event: HostEvents[Name],
    logged: HostEvents[Name] = event,
  ): void {
    const isHeard = this.#emitter.listenerCount(name) > 0
    if (!isHeard || this.#logsHeard) this.#log?.tell(name, logged)
    try {
      this.#emitter.emit(name, event)
    } catch (error) {
      this.#lastError = error
      this.#log?.listenerFailed(name, error)
    }
  }
}
