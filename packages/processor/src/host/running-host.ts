import PQueue from 'p-queue'
import {
  HostStoppedError,
  LeaseStoreUnavailableError,
  type DocumentBody,
  type FeedRange,
} from '@tidemark/contracts'
import { Bell } from '../feed-processing/bell.ts'
import { observerCaller } from '../feed-processing/platform/observer-caller.ts'
import type { BatchObserver } from '../feed-processing/batch-observer.ts'
import type { ObserverThreads } from '../observers/threads/observer-threads.ts'
import { GroupEntrance, type EnteredGroup } from './group-entrance.ts'
import type { HostEventName, HostEvents } from './host-events.ts'
import type { HostStatus, LeaseHealth } from './host-health.ts'
import { HostLife } from './host-life.ts'
import type { ResolvedHostOptions } from './resolve-host-options.ts'

export interface RunningHostOptions<T extends DocumentBody> {
  readonly options: ResolvedHostOptions<T>
  readonly createObserver: () => BatchObserver<T>
  /** Where observers run, instead of those of `createObserver`. */
  readonly threads?: ObserverThreads | undefined
  /** Must not throw. */
  readonly emit: <Name extends HostEventName>(name: Name, event: HostEvents[Name]) => void
}

export interface HostEnd {
  /** Why it ended by itself. */
  readonly error: Error | undefined
}

/** What runs between `registerObserver` and the end: one life in the group after the other. */
export class RunningHost<T extends DocumentBody> {
  readonly #options: ResolvedHostOptions<T>
  readonly #parts: RunningHostOptions<T>
  readonly #queue: PQueue
  readonly #stopping = new AbortController()
  readonly #joined = Promise.withResolvers<void>()
  /** Calls of observers that wait for the end of the others. */
  readonly #stoppers = new Set<object>()
  readonly #newStopper = new Bell()
  readonly #entrance: GroupEntrance<T>
  /** Of this process, as other processes of its name know it. */
  readonly #process: string
  #entered = 0
  #life: HostLife<T> | undefined
  #lives: Promise<HostEnd> | undefined

  constructor(parts: RunningHostOptions<T>) {
    this.#parts = parts
    this.#options = parts.options
    this.#process = parts.options.random.hex(8)
    this.#queue = new PQueue({ concurrency: parts.options.maxConcurrentObservers })
    this.#entrance = new GroupEntrance(parts)
  }

  get status(): HostStatus {
    if (this.#isRecovering) return 'recovering'
    const status = this.#life?.status
    switch (status) {
      case undefined:
      case 'new':
      case 'joining':
        return 'starting'
      case 'joined':
        return this.leases().some((one) => one.lastError !== undefined || one.state === 'fenced')
          ? 'degraded'
          : 'running'
      case 'suspect':
        return 'degraded'
      case 'fenced':
        return 'fenced'
      case 'draining':
      // It tells its last positions; the host itself says when nothing runs any more.
      case 'ended':
        return 'stopping'
    }
  }

  get lastError(): unknown {
    return this.#entrance.lastError ?? this.#life?.lastError
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
    try {
      const entered = await this.#entrance.enter(this.#stopping.signal)
      this.#lives = this.#live(this.#begin(entered), entered.keys)
      await this.#untilJoined(this.#lives)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /**
   * Drains, checkpoints, releases, leaves; resolves when nothing is left running. May be repeated. False: it is called by an
   * observer of this host, which would wait for itself; then all but that one's lease is done.
   */
  async stop(): Promise<boolean> {
    const caller = observerCaller()
    this.#stopping.abort(new HostStoppedError(`host ${this.#options.hostName} was stopped`))
    const life = this.#life
    life?.leave()
    if (life?.pumps.hasCaller(caller) === true) {
      await this.#othersEnded(life, caller)
      if (life.pumps.hasCaller(observerCaller())) return false
    }
    await this.ended()
    return true
  }

  /** Two observers that stop their host do not wait for each other. */
  async #othersEnded(life: HostLife<T>, caller: object): Promise<void> {
    this.#stoppers.add(caller)
    this.#newStopper.ring()
    for (let isOver = false; !isOver;) {
      const others = life.pumps.ended(this.#stoppers).then(() => true)
      isOver = await Promise.race([others, this.#newStopper.next.then(() => false)])
    }
  }

  /** Changes of calls that were aborted because the host was stopped. */
  get abortedChanges(): number {
    return this.#life?.abortedChanges ?? 0
  }

  /** Resolves with the reason when the host has ended, by itself or by `stop`. */
  async ended(): Promise<HostEnd> {
    return (await this.#lives) ?? { error: undefined }
  }

  /** The store's data were lost, and this host has not started over yet. */
  get #isRecovering(): boolean {
    const isEnding = this.#life?.isLost === true && this.#options.onLeaseStoreLoss === 'recover'
    return this.#entrance.isRecovering || (isEnding && !this.#stopping.signal.aborted)
  }

  async #live(first: HostLife<T>, keys: readonly FeedRange[]): Promise<HostEnd> {
    const { signal } = this.#stopping
    for (let life = first; ;) {
      const { error, loss } = await life.ended()
      if (loss === undefined || this.#options.onLeaseStoreLoss === 'stop') return { error }
      try {
        life = this.#begin(await this.#entrance.reenter(loss, keys, signal))
      } catch (failure) {
        if (signal.aborted) return { error: undefined }
        return { error: failure instanceof Error ? failure : new Error(String(failure)) }
      }
    }
  }

  /** All of one process begin alike, so that it knows itself in what a store that went back in time tells. */
  #nextIncarnation(): string {
    this.#entered += 1
    return this.#entered === 1 ? this.#process : `${this.#process}.e${this.#entered}`
  }

  #begin(entered: EnteredGroup): HostLife<T> {
    const { createObserver, threads, emit } = this.#parts
    const life = new HostLife({
      options: this.#options,
      ...entered,
      incarnation: this.#nextIncarnation(),
      createObserver,
      threads,
      queue: this.#queue,
      emit,
      onJoined: () => this.#joined.resolve(),
    })
    this.#life = life
    if (this.#stopping.signal.aborted) life.leave()
    else life.start()
    return life
  }

  async #untilJoined(lives: Promise<HostEnd>): Promise<void> {
    const { clock, startTimeoutMs, hostName } = this.#options
    const over = new AbortController()
    const signal = AbortSignal.any([this.#stopping.signal, over.signal])
    const restMs = Math.max(0, this.#entrance.deadlineMs - clock.monotonicMs())
    const timedOut = clock.sleep(restMs, signal).then(() => {
      throw new LeaseStoreUnavailableError(
        `the host could not join its group within ${startTimeoutMs} ms`,
        { cause: this.lastError },
      )
    })
    const stopped = lives.then(({ error }) => {
      throw error ?? new HostStoppedError(`host ${hostName} was stopped`)
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
