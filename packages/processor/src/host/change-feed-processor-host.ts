import { EventEmitter } from 'eventemitter3'
import { HostStoppedError, InvalidOptionError, type DocumentBody } from '@tidemark/contracts'
import { checkOptions, describeValue, stderrLogger } from '@tidemark/contracts/internal'
import { catchUpRules, type CatchUpOptions } from '../estimation/change-feed-estimator.ts'
import type { BatchObserver } from '../feed-processing/batch-observer.ts'
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
import { healthAnswer } from './health-answer.ts'
import type {
  HostEventListener,
  HostEventName,
  HostEvents,
  HostListenerOptions,
} from './host-events.ts'
import type { HostHealth, HostStatus } from './host-health.ts'
import { HostLog } from './host-log.ts'
import type { ChangeFeedProcessorHostOptions } from './host-options.ts'
import { resolveHostOptions, type ResolvedHostOptions } from './resolve-host-options.ts'
import { runUntilCaughtUp, type CaughtUpRun } from './run-until-caught-up.ts'
import { RunningHost } from './running-host.ts'

/** How a host was stopped. */
export interface HostStop {
  /** Changes of calls that were aborted, because they took longer than the stop: they come again. 0 = nothing is repeated. */
  readonly abortedChanges: number
}

/**
 * One worker of a processor group: it shares the ranges of a feed with the group's other hosts by leases, reads its
 * ranges and delivers their changes to observers, at least once and in order per key (PH-1).
 *
 * A host cannot be reused: construct it, register observers once, then unregister them.
 */
export class ChangeFeedProcessorHost<T extends DocumentBody = DocumentBody> {
  readonly #options: ResolvedHostOptions<T>
  /** Typed by `on`, `once`, `off` and `#emit`. */
  readonly #emitter = new EventEmitter()
  /** Undefined = nothing is logged. */
  readonly #log: HostLog | undefined
  /** Without a logger of the program's, what it listens to is not logged as well. */
  readonly #logsHeard: boolean
  /** Listeners that do not tell anybody. */
  readonly #counting = new WeakSet<object>()
  /** The user knows which changes come. */
  readonly #hasMode: boolean
  #phase: 'idle' | 'active' | 'stopping' | 'stopped' = 'idle'
  /** Ends the wait for a module that is being loaded. */
  readonly #loading = new AbortController()
  #running: RunningHost<T> | undefined
  #ending: Promise<void> | undefined
  #lastError: unknown
  #hasFailed = false

  /**
   * Starts nothing.
   *
   * @throws ERR_INVALID_OPTION naming the option
   * @throws ERR_LEASE_STORAGE when the leases would be kept in the monitored collection (LE-2)
   */
  constructor(options: ChangeFeedProcessorHostOptions<T>) {
    this.#options = resolveHostOptions(options)
    const { logger = stderrLogger, feedOptions } = options
    this.#hasMode = feedOptions?.mode !== undefined
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
   * Starts the host. A class creates one observer for each lease; a function or an instance is shared by all of them;
   * a module creates one for each lease in one of `threads` worker threads (PH-13). See `registerObserverFactory`.
   *
   * Anything else, and a module that cannot be loaded or exports no factory, is ERR_INVALID_OPTION.
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
   * Starts the host. Resolves when it has joined the group and the leases exist with their start positions, so that
   * nothing written from then on is missed. It acquires leases shortly after.
   *
   * Stores that do not answer are retried for `startTimeoutMs`. When it rejects, nothing is running:
   * ERR_LEASE_STORE_UNAVAILABLE, ERR_LEASE_STORAGE, ERR_INVALID_CONTINUATION or
   * ERR_INVALID_OPTION (`partitionKeyRangeId`), the feed's own error, or ERR_HOST_STOPPED when
   * `unregisterObservers` was called before or the host was used before. If the group's leases were lost, it resolves
   * when they are created again, `leaseExpirationIntervalMs` later, or rejects with ERR_LEASES_VANISHED.
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
   * For jobs and tests: runs until the group, over all its hosts, has processed everything that is in the feed now.
   * Then it stops gracefully and resolves with what this host did. A new group without `startFromBeginning` starts
   * from now, and has nothing to do.
   *
   * A batch of this host counts when it succeeds, a batch of another host when its position is stored. Failures are
   * retried until the time is up. Before it rejects, the host also stops gracefully, in addition to `timeoutMs`. It
   * rejects with ERR_NOT_CAUGHT_UP, whose cause is the last failure, when the time is up, and at once when a range of
   * this host is halted or has passed its horizon; with the signal's reason; like `registerObserver`; and with the
   * error that stopped the host.
   */
  async runUntilCaughtUp(
    observer: RegisteredObserver<T>,
    options: CatchUpOptions = {},
  ): Promise<CaughtUpRun> {
    checkOptions(options, catchUpRules)
    const { timeoutMs, signal } = options
    this.#assertUnused()
    signal?.throwIfAborted()
    return runUntilCaughtUp(this, observer, { options: this.#options, timeoutMs, signal })
  }

  /**
   * Stops gracefully (PH-11): reads no more, lets the batches in flight finish for up to `shutdownTimeoutMs`, stores
   * the positions, releases the leases, closes the observers and leaves the group. Then it aborts what is left, and waits
   * `abortGraceMs` for it: its changes come again, and `abortedChanges` says how many they are (also the event
   * `batchAborted`, and a line of the log). Resolves when nothing is running; if one of its own observers calls it, when
   * nothing but that observer's lease is. Can be called again.
   */
  async unregisterObservers(): Promise<HostStop> {
    if (this.#phase === 'idle') this.#phase = 'stopped'
    if (this.#phase === 'active') this.#phase = 'stopping'
    this.#loading.abort(new HostStoppedError(`host ${this.hostName} was stopped`))
    const running = this.#running
    if ((await running?.stop()) !== false) await this.#ending
    return { abortedChanges: running?.abortedChanges ?? 0 }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unregisterObservers()
  }

  /**
   * Calls `listener` for each event of that name. Listeners run in the host's event loop, so keep them short. An
   * error that one throws becomes `health().lastError` and has no other effect.
   */
  on<Name extends HostEventName>(
    name: Name,
    listener: HostEventListener<Name>,
    { countsOnly = false }: HostListenerOptions = {},
  ): this {
    if (countsOnly) this.#counting.add(listener)
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
      hasFailed: this.#hasFailed,
      lastError: this.#lastError ?? running?.lastError,
    }
  }

  /**
   * Answers `/livez` and `/readyz` for a server of yours; other paths are 404. `/livez` is 503 when the host has stopped by
   * itself with an error, so that a restart helps. `/readyz` is 503 unless the host is in its group, its session is valid
   * and its lease store answers. The JSON says why, without names of hosts, groups or documents. `serveHealth` has a
   * server of its own.
   */
  healthHandler(): (request: Request) => Promise<Response> {
    return async ({ method, url }) => {
      const { pathname: path } = new URL(url)
      const { body, ...init } = healthAnswer([this], { method, path })
      return new Response(body, init)
    }
  }

  #status(): HostStatus {
    if (this.#phase !== 'active') return this.#phase
    return this.#running?.status ?? 'starting'
  }

  async #begin(createObserver: () => BatchObserver<T>, threads?: ObserverThreads): Promise<void> {
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
    const { supports, description } = this.#options.feed
    if (!this.#hasMode && supports.allVersions === true) {
      this.#emit('deletesUnseen', { feed: description })
    }
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
    if (error !== undefined) {
      this.#lastError = error
      this.#hasFailed = true
    }
    // A start that failed is told by its rejection.
    this.#emit('stopped', { error }, failure === undefined ? { error } : { error: undefined })
  }

  #emit<Name extends HostEventName>(
    name: Name,
    event: HostEvents[Name],
    logged: HostEvents[Name] = event,
  ): void {
    const isHeard = this.#emitter.listeners(name).some((one) => !this.#counting.has(one))
    if (!isHeard || this.#logsHeard) this.#log?.tell(name, logged)
    try {
      this.#emitter.emit(name, event)
    } catch (error) {
      this.#lastError = error
      this.#log?.listenerFailed(name, error)
    }
  }
}
