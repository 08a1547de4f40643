import PQueue from 'p-queue'
import {
  HostStoppedError,
  LeaseStoreUnavailableError,
  type DocumentBody,
  type HeldLease,
  type Lease,
  type LeaseGroup,
} from '@tidemark/contracts'
import { prepareLeases } from '../bootstrapping/prepare-leases.ts'
import { retryUntil } from '../bootstrapping/start-retry.ts'
import type { PumpNotice, PumpOptions } from '../feed-processing/pump-options.ts'
import { RangePump } from '../feed-processing/range-pump.ts'
import { LeaseCoordinator } from '../lease-management/lease-coordinator.ts'
import type { LeaseNotice } from '../lease-management/lease-protocol.ts'
import type { LeasePump, PumpSeat } from '../lease-management/pump-seat.ts'
import type { ObserverFactory } from '../observers/observer-factory.ts'
import type { HostEventName, HostEvents, PlacedLease } from './host-events.ts'
import type { HostStatus, LeaseHealth } from './host-health.ts'
import { LeaseJoiner, type JoinableLease } from './lease-joiner.ts'
import { PositionReporter } from './position-reporter.ts'
import type { ResolvedHostOptions } from './resolve-host-options.ts'

export interface RunningHostOptions<T extends DocumentBody> {
  readonly options: ResolvedHostOptions<T>
  readonly createObserver: ObserverFactory<T>
  /** Must not throw. */
  readonly emit: <Name extends HostEventName>(name: Name, event: HostEvents[Name]) => void
}

/** What runs between `registerObserver` and the end: the coordinator and its pumps. */
export class RunningHost<T extends DocumentBody> {
  readonly #options: ResolvedHostOptions<T>
  readonly #createObserver: ObserverFactory<T>
  readonly #emit: RunningHostOptions<T>['emit']
  readonly #queue: PQueue
  readonly #pumps = new Map<string, { readonly held: HeldLease; readonly pump: RangePump<T> }>()
  readonly #pumpRuns = new Set<Promise<void>>()
  readonly #starting = new AbortController()
  readonly #joined = Promise.withResolvers<void>()
  readonly #joiner: LeaseJoiner<T>
  /** Undefined for feeds that keep no positions of groups. */
  readonly #reporter: PositionReporter | undefined
  #group: LeaseGroup | undefined
  #coordinator: LeaseCoordinator | undefined
  #lastError: unknown

  constructor({ options, createObserver, emit }: RunningHostOptions<T>) {
    this.#options = options
    this.#createObserver = createObserver
    this.#emit = emit
    this.#queue = new PQueue({ concurrency: options.maxConcurrentObservers })
    const { feed, mode, clock, group } = options
    this.#joiner = new LeaseJoiner({
      feed,
      mode,
      clock,
      running: () => this.#joinable(),
      join: (held, next) => this.#coordinator?.join(held, next),
    })
    const { positions } = feed
    const onFailure = (failure: HostEvents['positionReportFailed']): void =>
      this.#emit('positionReportFailed', failure)
    this.#reporter = positions && new PositionReporter({ positions, group, clock, onFailure })
  }

  get status(): HostStatus {
    const status = this.#coordinator?.status
    switch (status) {
      case undefined:
      case 'new':
      case 'joining':
        return 'starting'
      case 'joined':
        return this.#leaseHealth().some(({ lastError }) => lastError !== undefined)
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
    return this.#lastError
  }

  get storeAvailable(): boolean {
    return this.#coordinator?.storeAvailable ?? true
  }

  get unowned(): readonly string[] {
    return this.#coordinator?.unowned ?? []
  }

  get sessionValidForMs(): number | undefined {
    const deadlineMs = this.#coordinator?.deadlineMs
    if (deadlineMs === undefined) return undefined
    return Math.max(0, deadlineMs - this.#options.clock.monotonicMs())
  }

  leases(): readonly LeaseHealth[] {
    return this.#leaseHealth()
  }

  /** Resolves when this host has joined and the leases exist. When it rejects, nothing is left running. */
  async start(): Promise<void> {
    const { clock, random, startTimeoutMs: timeoutMs } = this.#options
    const deadlineMs = clock.monotonicMs() + timeoutMs
    const { signal } = this.#starting
    try {
      this.#group = await retryUntil(
        (attemptSignal) => this.#prepare(attemptSignal),
        { clock, random, deadlineMs, timeoutMs },
        signal,
      )
      signal.throwIfAborted()
      const coordinator = this.#newCoordinator(this.#group)
      this.#coordinator = coordinator
      coordinator.start()
      this.#joiner.start()
      await this.#untilJoined(coordinator, deadlineMs)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Drains, checkpoints, releases, leaves; resolves when nothing is left running. May be repeated. */
  async stop(): Promise<void> {
    this.#starting.abort(new HostStoppedError(`host ${this.#options.hostName} was stopped`))
    this.#coordinator?.leave()
    await this.ended()
  }

  /** Resolves with the reason when the host has ended, by itself or by `stop`. */
  async ended(): Promise<{ readonly error: Error | undefined }> {
    const end = (await this.#coordinator?.stopped) ?? { error: undefined }
    await Promise.all(this.#pumpRuns)
    await this.#joiner.stop()
    await this.#reporter?.stop()
    await this.#group?.close()
    return end
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

  async #untilJoined(coordinator: LeaseCoordinator, deadlineMs: number): Promise<void> {
    const { clock, startTimeoutMs } = this.#options
    const over = new AbortController()
    const signal = AbortSignal.any([this.#starting.signal, over.signal])
    const timedOut = clock.sleep(Math.max(0, deadlineMs - clock.monotonicMs()), signal).then(() => {
      throw new LeaseStoreUnavailableError(
        `the host could not join its group within ${startTimeoutMs} ms`,
        { cause: this.#lastError },
      )
    })
    const stopped = coordinator.stopped.then(({ error }) => {
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

  #newCoordinator(group: LeaseGroup): LeaseCoordinator {
    const { clock, random, hostName, ...options } = this.#options
    return new LeaseCoordinator({
      core: {
        host: hostName,
        incarnation: random.hex(8),
        profile: {
          weight: options.weight,
          minLeases: options.minLeases,
          maxLeases: options.maxLeases,
          standby: options.standby,
        },
        heartbeatMs: options.renewIntervalMs,
        ttlMs: options.expirationIntervalMs,
        acquireRetryMs: options.acquireIntervalMs,
        handoffTimeoutMs: options.handoffTimeoutMs,
        shutdownTimeoutMs: options.shutdownTimeoutMs,
        refusalMs: options.refusalMs,
      },
      group,
      clock,
      random,
      callTimeoutMs: options.storeTimeoutMs,
      startPump: (seat) => this.#startPump(seat),
      onNotice: (notice) => this.#onLeaseNotice(notice),
    })
  }

  #startPump(seat: PumpSeat): LeasePump {
    const { held } = seat
    const { feed, clock, random } = this.#options
    const parts = {
      feed,
      createObserver: this.#createObserver,
      queue: this.#queue,
      clock,
      random,
      options: pumpOptions(this.#options),
      onNotice: (notice: PumpNotice) => this.#onPumpNotice(held, notice),
    }
    const pump = new RangePump(parts, seat)
    const key = pumpKey(held)
    this.#pumps.set(key, { held, pump })
    const run = pump.run().finally(() => {
      this.#pumps.delete(key)
      this.#pumpRuns.delete(run)
    })
    this.#pumpRuns.add(run)
    return pump
  }

  /** Leases that are worked on, as the joiner sees them. */
  #joinable(): readonly JoinableLease[] {
    const held = this.#coordinator?.held() ?? []
    return held.flatMap((lease) => {
      const pump = this.#pumps.get(pumpKey(lease.held))?.pump
      const isRunning = lease.state === 'running' && pump !== undefined
      return isRunning ? [{ held: lease.held, range: lease.range, pump }] : []
    })
  }

  #leaseHealth(): readonly LeaseHealth[] {
    const held = this.#coordinator?.held() ?? []
    return held.map(({ held: lease, state, stored }) => {
      const view = this.#pumps.get(pumpKey(lease))?.pump.view()
      return {
        ...lease,
        state,
        checkpointLsn: stored.lsn,
        processedLsn: view?.processedLsn,
        attempt: view?.attempt ?? 0,
        inFlightMs: view?.inFlightMs,
        lastError: view?.lastError,
      }
    })
  }

  #onReplaced({ cause, old, next }: Extract<LeaseNotice, { kind: 'replaced' }>): void {
    for (const { leaseId } of old) this.#reporter?.forget(leaseId)
    for (const { range, checkpoint } of next) this.#reporter?.stored(range, checkpoint.lsn)
    const [only] = next
    const [parent] = old
    if (cause === 'join' && only !== undefined) {
      this.#emit('leasesJoined', { ...placedLease(only), old })
    }
    if (cause === 'split' && parent !== undefined) {
      this.#emit('rangeReplaced', { ...parent, next: next.map(placedLease) })
    }
  }

  #onPumpNotice(held: HeldLease, { kind, ...notice }: PumpNotice): void {
    // The notices are the events of the same names without the lease; the compiler cannot pair them.
    this.#emit(kind, { ...held, ...notice } as HostEvents[typeof kind])
  }

  #onLeaseNotice(notice: LeaseNotice): void {
    const { hostName } = this.#options
    switch (notice.kind) {
      case 'joined':
        this.#joined.resolve()
        this.#emit('joined', { hostName, incarnation: notice.incarnation })
        return
      case 'acquired':
        // Whoever had it may have died before it told where it stood.
        this.#reporter?.stored(notice.range, notice.checkpoint.lsn)
        this.#joiner.changed()
        this.#emit('leaseAcquired', { ...notice.held, lsn: notice.checkpoint.lsn })
        return
      case 'stored':
        this.#reporter?.stored(notice.range, notice.lsn)
        return
      case 'replaced':
        this.#onReplaced(notice)
        return
      case 'released':
        this.#reporter?.released(notice.held.leaseId)
        this.#emit('leaseReleased', { ...notice.held, reason: notice.reason })
        return
      case 'lost':
        this.#reporter?.forget(notice.held.leaseId)
        this.#emit('leaseLost', { ...notice.held, cause: notice.cause })
        return
      case 'rebalanced': {
        const { membershipVersion, hosts, leases, mine } = notice
        this.#emit('rebalanced', { membershipVersion, hosts, leases, mine })
        return
      }
      case 'unowned':
        this.#emit('unownedRanges', { leaseIds: notice.leaseIds })
        return
      case 'fenced':
        this.#emit('fenced', { cause: notice.cause })
        return
      case 'storeUnavailable':
        this.#lastError = notice.error
        this.#emit('leaseStoreUnavailable', { operation: notice.op, error: notice.error })
        return
      case 'storeRecovered':
        this.#lastError = undefined
        this.#emit('leaseStoreRecovered', { operation: notice.op })
        return
    }
  }
}

function pumpKey({ leaseId, epoch }: HeldLease): string {
  return `${leaseId}@${epoch}`
}

function placedLease({ id, epoch, range, checkpoint: { lsn } }: Lease): PlacedLease {
  return { leaseId: id, epoch, range, lsn }
}

function pumpOptions<T extends DocumentBody>(options: ResolvedHostOptions<T>): PumpOptions {
  return {
    hostName: options.hostName,
    group: options.group,
    maxItemCount: options.maxItemCount,
    pendingDeletes: options.pendingDeletes,
    mode: options.mode,
    onHorizonPassed: options.onHorizonPassed,
    feedPollDelayMs: options.feedPollDelayMs,
    readAheadPages: options.readAheadPages,
    checkpointFrequency: options.checkpointFrequency,
    retryDelayMs: options.retryDelayMs,
    retryMaxDelayMs: options.retryMaxDelayMs,
    abortGraceMs: options.abortGraceMs,
  }
}
