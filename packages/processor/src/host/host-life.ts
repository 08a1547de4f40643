import type PQueue from 'p-queue'
import {
  errorCode,
  feedRangeId,
  type AnnouncedPresence,
  type DocumentBody,
  type FeedRange,
  type GroupFeed,
  type GroupPosition,
  type HeldLease,
  type Lease,
  type LeaseGroup,
} from '@tidemark/contracts'
import type { PumpNotice } from '../feed-processing/pump-events.ts'
import { RangePump } from '../feed-processing/range-pump.ts'
import { SuspectTurns } from '../feed-processing/suspect-turns.ts'
import type { CoreStatus } from '../lease-management/lease-core.ts'
import { LeaseCoordinator } from '../lease-management/lease-coordinator.ts'
import type { LeaseNotice } from '../lease-management/lease-protocol.ts'
import type { LeasePump, PumpSeat } from '../lease-management/pump-seat.ts'
import { LoadMeter, type LeaseWork } from '../load-balancing/load-meter.ts'
import type { BatchObserver } from '../feed-processing/batch-observer.ts'
import type { ObserverThreads } from '../observers/threads/observer-threads.ts'
import type { HostEventName, HostEvents, PlacedLease } from './host-events.ts'
import type { LeaseHealth } from './host-health.ts'
import { HostNotes } from './host-notes.ts'
import { LeaseProgress } from './lease-progress.ts'
import { LeaseShaper, type JoinableLease } from './lease-shaper.ts'
import { PositionReporter } from './position-reporter.ts'
import type { ResolvedHostOptions } from './resolve-host-options.ts'
import { RunningPumps } from './running-pumps.ts'

export interface HostLifeOptions<T extends DocumentBody> {
  readonly options: ResolvedHostOptions<T>
  /** Its leases exist. Closed at the end. */
  readonly group: LeaseGroup
  /** Of the store's data that its leases are in. */
  readonly generation: string
  /** What the group follows, where that is kept. */
  readonly feed: GroupFeed | undefined
  /** What the group works on. */
  readonly keys: readonly FeedRange[]
  /** Closed at the end. */
  readonly presence: AnnouncedPresence | undefined
  /** Of this stay in the group. Of one process all begin alike, up to a dot. */
  readonly incarnation: string
  readonly createObserver: () => BatchObserver<T>
  /** Where observers run, instead of those of `createObserver` and `queue`. */
  readonly threads: ObserverThreads | undefined
  /** Bounds the observer calls of the host, in all its lives. */
  readonly queue: PQueue
  /** Must not throw. */
  readonly emit: <Name extends HostEventName>(name: Name, event: HostEvents[Name]) => void
  /** Must not throw. */
  readonly onJoined: () => void
}

export interface LifeEnd {
  /** Why it ended by itself. */
  readonly error: Error | undefined
  /** The lease store has other data than before. */
  readonly loss: StoreLoss | undefined
}

/** The lease store was found with other data than before, or with no leases of a group that had some. */
export interface StoreLoss {
  readonly generation: string
  /** Clock time at which this host came to know of it. */
  readonly atMs: number
  /** Stored positions that the feed was not told. */
  readonly unreported: readonly GroupPosition[]
}

/** One stay of a host in its group, from joining to leaving it: the coordinator and its pumps. */
export class HostLife<T extends DocumentBody> {
  readonly #parts: HostLifeOptions<T>
  readonly #options: ResolvedHostOptions<T>
  readonly #emit: HostLifeOptions<T>['emit']
  readonly pumps: RunningPumps<T> = new RunningPumps<T>()
  readonly #turns: SuspectTurns
  readonly #meter = new LoadMeter()
  readonly #shaper: LeaseShaper<T>
  /** Undefined for feeds that keep no positions of groups. */
  readonly #reporter: PositionReporter | undefined
  readonly #notes: HostNotes
  readonly #coordinator: LeaseCoordinator
  #lastError: unknown
  #end: Promise<LifeEnd> | undefined
  #loss: Omit<StoreLoss, 'unreported'> | undefined
  /** The feed's store was closed in this process: there will never be more to read. */
  #feedClosed: Error | undefined
  #missing: readonly string[] = []
  #abortedChanges = 0

  constructor(parts: HostLifeOptions<T>) {
    const { options, emit, group } = parts
    this.#parts = parts
    this.#options = options
    this.#emit = emit
    const { feed, mode, clock } = options
    this.#turns = new SuspectTurns(clock)
    this.#shaper = new LeaseShaper({
      feed,
      mode,
      clock,
      group: () => this.#coordinator.group,
      running: () => this.#joinable(),
      cut: (held, parts) => this.#coordinator.cut(held, parts),
      join: (held, next) => this.#coordinator.join(held, next),
    })
    const { positions } = feed
    const onFailure = (failure: HostEvents['positionReportFailed']): void =>
      this.#emit('positionReportFailed', failure)
    const flush = group.flush?.bind(group)
    this.#reporter =
      positions &&
      new PositionReporter({ positions, group: options.group, clock, flush, onFailure })
    this.#notes = new HostNotes({ group, hostName: options.hostName, clock })
    this.#coordinator = this.#newCoordinator(group)
  }

  get status(): CoreStatus {
    return this.#coordinator.status
  }

  /** Of calls that were aborted because the host was stopped. */
  get abortedChanges(): number {
    return this.#abortedChanges
  }

  get lastError(): unknown {
    return this.#lastError
  }

  /** Whether the lease store has other data than before: this life is ending. */
  get isLost(): boolean {
    return this.#loss !== undefined
  }

  get storeAvailable(): boolean {
    return this.#coordinator.storeAvailable
  }

  /** Leases that no host may take, and keys that no lease has. */
  get unowned(): readonly string[] {
    return [...this.#coordinator.unowned, ...this.#missing]
  }

  get sessionValidForMs(): number | undefined {
    const { deadlineMs } = this.#coordinator
    if (deadlineMs === undefined) return undefined
    return Math.max(0, deadlineMs - this.#options.clock.monotonicMs())
  }

  leases(): readonly LeaseHealth[] {
    return this.#coordinator.held().map(({ held: lease, state, stored }) => {
      const { pump, progress } = this.pumps.of(lease) ?? {}
      const view = pump?.view()
      const caughtUp = view?.caughtUpLsn !== undefined
      return {
        ...lease,
        state,
        checkpointLsn: stored.lsn,
        processedLsn: view?.processedLsn,
        caughtUp,
        doneLsn: view?.caughtUpLsn ?? view?.processedLsn,
        changes: progress?.changes ?? 0,
        batches: progress?.batches ?? 0,
        lastProgressMs: progress?.lastProgressMs,
        noProgressForMs: caughtUp ? 0 : (progress?.restMs ?? 0),
        attempt: view?.attempt ?? 0,
        inFlightMs: view?.inFlightMs,
        lastError: view?.lastError,
      }
    })
  }

  start(): void {
    this.#coordinator.start()
    this.#shaper.start()
  }

  /** Drains, checkpoints, releases, leaves. `ended` tells when it is done. */
  leave(): void {
    this.#coordinator.leave()
  }

  /** Resolves when nothing is left running, with the reason if it ended by itself. */
  ended(): Promise<LifeEnd> {
    this.#end ??= this.#untilEnded()
    return this.#end
  }

  async #untilEnded(): Promise<LifeEnd> {
    const { error } = await this.#coordinator.stopped
    await this.pumps.ended()
    await this.#shaper.stop()
    await this.#reporter?.stop()
    await this.#notes.stop()
    await this.#parts.presence?.close()
    await this.#parts.group.close()
    const unreported = this.#reporter?.unreported ?? []
    return { error: error ?? this.#feedClosed, loss: this.#loss && { ...this.#loss, unreported } }
  }

  #newCoordinator(group: LeaseGroup): LeaseCoordinator {
    const { clock, random, hostName, ...options } = this.#options
    const { feed, presence } = this.#parts
    return new LeaseCoordinator({
      core: {
        host: hostName,
        incarnation: this.#parts.incarnation,
        profile: {
          weight: options.weight,
          minLeases: options.minPartitionCount,
          maxLeases: options.maxPartitionCount,
          standby: options.standby,
          leasesPerRange: options.leasesPerRange,
          presence: presence?.id,
          balanceBy: options.balanceBy,
        },
        heartbeatMs: options.leaseRenewIntervalMs,
        ttlMs: options.leaseExpirationIntervalMs,
        acquireRetryMs: options.leaseAcquireIntervalMs,
        handoffTimeoutMs: options.handoffTimeoutMs,
        shutdownTimeoutMs: options.shutdownTimeoutMs,
        refusalMs: options.refusalMs,
        generation: this.#parts.generation,
        followed: feed && { group: options.group, feed },
        keys: this.#parts.keys,
      },
      group,
      clock,
      random,
      presence,
      callTimeoutMs: options.leaseStoreTimeoutMs,
      startPump: (seat) => this.#startPump(seat),
      measureLoad: options.balanceBy === 'load' ? () => this.#measureLoad() : undefined,
      onBeat: () => this.#notes.beat(),
      onNotice: (notice) => {
        this.#notes.onLease(notice)
        this.#onLeaseNotice(notice)
      },
    })
  }

  #startPump(seat: PumpSeat): LeasePump {
    const { held } = seat
    const { feed, deadLetters, telemetry, clock, random } = this.#options
    const { createObserver, queue } = this.#parts.threads?.forLease<T>() ?? this.#parts
    const progress = new LeaseProgress(clock)
    const parts = {
      feed,
      createObserver,
      deadLetters,
      telemetry,
      queue,
      turns: this.#turns,
      clock,
      random,
      options: this.#options,
      onNotice: (notice: PumpNotice) => {
        progress.note(notice)
        this.#notes.onPump(held, notice)
        if (notice.kind === 'leaseFenced') this.#coordinator.sinkHasSeen(held, notice.currentEpoch)
        this.#onPumpNotice(held, notice)
      },
    }
    const pump = new RangePump(parts, seat)
    this.pumps.run({ held, pump, progress })
    return pump
  }

  #measureLoad(): string {
    const works = [...this.pumps].map(({ key, held, pump, progress }): LeaseWork => {
      const { inFlightMs = 0 } = pump.view()
      const { leaseId } = held
      const busyMs = progress.busyMs + inFlightMs
      return { key, leaseId, busyMs, changes: progress.changes }
    })
    return this.#meter.measure(works, this.#options.clock.monotonicMs())
  }

  /** Leases that are worked on, as the shaper sees them. */
  #joinable(): readonly JoinableLease[] {
    return this.#coordinator.held().flatMap((lease) => {
      const pump = this.pumps.of(lease.held)?.pump
      const isRunning = lease.state === 'running' && pump !== undefined
      return isRunning ? [{ held: lease.held, range: lease.range, pump }] : []
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
    if ((cause === 'split' || cause === 'cut') && parent !== undefined) {
      this.#emit(cause === 'split' ? 'rangeReplaced' : 'leaseCut', {
        ...parent,
        next: next.map(placedLease),
      })
    }
  }

  #onStoreLost({ known, generation, stood }: Extract<LeaseNotice, { kind: 'storeLost' }>): void {
    this.#loss = { generation, atMs: this.#options.clock.monotonicMs() }
    this.#reporter?.keep(stood)
    const action = this.#options.onLeaseStoreLoss
    const event = { generation, previousGeneration: known, action, known: stood.length }
    this.#emit('leaseStoreLost', event)
  }

  #onSetDamaged({ generation, damage, stood }: Extract<LeaseNotice, { kind: 'setDamaged' }>): void {
    this.#loss = { generation, atMs: this.#options.clock.monotonicMs() }
    this.#missing = damage.missing.map(feedRangeId)
    this.#reporter?.keep(stood)
    this.#emit('leasesDamaged', { ...damage, action: this.#options.onLeaseStoreLoss })
  }

  #onPumpNotice(held: HeldLease, told: PumpNotice): void {
    if (told.kind === 'batchAborted' && told.reason === 'shutdown') {
      this.#abortedChanges += told.changes
    }
    const { kind, ...notice } = told
    // The notices are the events of the same names without the lease; the compiler cannot pair them.
    this.#emit(kind, { ...held, ...notice } as HostEvents[typeof kind])
    if (kind !== 'feedError' || !('error' in notice) || !(notice.error instanceof Error)) return
    if (errorCode(notice.error) !== 'ERR_STORE_CLOSED') return
    this.#feedClosed ??= notice.error
    this.leave()
  }

  #onLeaseNotice(notice: LeaseNotice): void {
    const { hostName } = this.#options
    switch (notice.kind) {
      case 'joined':
        this.#parts.onJoined()
        this.#emit('joined', { hostName, incarnation: notice.incarnation })
        return
      case 'acquired':
        this.#reporter?.owned(notice.range, notice.held.epoch)
        // Whoever had it may have died before it told where it stood.
        this.#reporter?.stored(notice.range, notice.checkpoint.lsn)
        this.#shaper.changed()
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
        this.#shaper.changed()
        this.#emit('rebalanced', { membershipVersion, hosts, leases, mine })
        return
      }
      case 'unowned':
        // The last host of a group that stops leaves leases behind, and none of them at a limit.
        if (this.#coordinator.status === 'draining') return
        this.#emit('unownedRanges', { leaseIds: notice.leaseIds })
        return
      case 'fenced':
        this.#emit('fenced', { cause: notice.cause })
        return
      case 'setDamaged':
        this.#onSetDamaged(notice)
        return
      case 'storeLost':
        this.#onStoreLost(notice)
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

function placedLease({ id, epoch, range, checkpoint: { lsn } }: Lease): PlacedLease {
  return { leaseId: id, epoch, range, lsn }
}
