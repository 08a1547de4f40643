import {
  LeasesVanishedError,
  type AnnouncedPresence,
  type DocumentBody,
  type FeedRange,
  type GroupFeed,
  type LeaseGroup,
} from '@tidemark/contracts'
import { LeaseMirror, type MirrorFailure } from '../bootstrapping/lease-mirror.ts'
import { prepareLeases } from '../bootstrapping/prepare-leases.ts'
import type { PreparedLeases } from '../bootstrapping/prepared-leases.ts'
import { recoverLeases } from '../bootstrapping/recover-leases.ts'
import { retryUntil } from '../bootstrapping/start-retry.ts'
import { joinedRanges } from '../lease-stores/lease-set-damage.ts'
import type { HostEventName, HostEvents } from './host-events.ts'
import type { StoreLoss } from './host-life.ts'
import type { ResolvedHostOptions } from './resolve-host-options.ts'

export interface GroupEntranceOptions<T extends DocumentBody> {
  readonly options: ResolvedHostOptions<T>
  /** Must not throw. */
  readonly emit: <Name extends HostEventName>(name: Name, event: HostEvents[Name]) => void
}

/** A group whose leases exist, to be joined. */
export interface EnteredGroup {
  /** To be closed by whoever gets it. */
  readonly group: LeaseGroup
  /** Of the store's data in which the leases are. */
  readonly generation: string
  /** What the group follows, where that is kept. */
  readonly feed: GroupFeed | undefined
  /** What the group works on. No two of them touch. */
  readonly keys: readonly FeedRange[]
  /** Of this process, where its death would show. To be closed by whoever gets it. */
  readonly presence: AnnouncedPresence | undefined
}

type Prepare = (
  given: {
    readonly group: LeaseGroup
    readonly mayCreateIn: string | undefined
    readonly nextGeneration: string | undefined
  },
  signal: AbortSignal,
) => Promise<PreparedLeases>

/**
 * How a host gets into its group: opens it and sees to it that it has leases. A group that has lost them is
 * left alone for the time of a session first: whoever owned a lease has noticed by then, or has stopped by
 * its deadline, and has told where it stood. Only then are leases created again (I1), by the first who does.
 */
export class GroupEntrance<T extends DocumentBody> {
  readonly #options: ResolvedHostOptions<T>
  readonly #emit: GroupEntranceOptions<T>['emit']
  readonly #mirror: LeaseMirror | undefined
  #loss: { readonly generation: string; readonly atMs: number } | undefined
  #deadlineMs: number | undefined
  #isDurabilityTold = false
  /** Of the last attempt that failed and is repeated. */
  lastError: unknown

  constructor({ options, emit }: GroupEntranceOptions<T>) {
    this.#options = options
    this.#emit = emit
    const { feed, group, onLeaseStoreLoss } = options
    const onFailure = (failure: MirrorFailure): void =>
      this.#emit('positionReportFailed', { ...failure, attempt: 1 })
    this.#mirror =
      feed.positions &&
      new LeaseMirror({
        positions: feed.positions,
        group,
        onFailure: onLeaseStoreLoss === 'stop' ? onFailure : undefined,
      })
  }

  /** The leases of the group were lost, and are about to be created again. */
  get isRecovering(): boolean {
    return this.#loss !== undefined
  }

  /** When a host that starts gives up: later if it has to wait because leases were lost. */
  get deadlineMs(): number {
    return this.#deadlineMs ?? Infinity
  }

  /** For a host that starts. Rejects as `registerObserver` does, with `signal.reason` when it aborts. */
  enter(signal: AbortSignal): Promise<EnteredGroup> {
    const { clock, startTimeoutMs, leases, ...options } = this.#options
    const { feed, start, mode, partitionKeyRangeId, leasesPerRange } = options
    const { discardExistingLeases: discardToken } = options
    this.#deadlineMs = clock.monotonicMs() + startTimeoutMs
    // Whoever keeps leases for as long as a process wants a group to start over with each.
    const mirror = leases.endsWithProcess === true ? undefined : this.#mirror
    const known = { feed, mirror, start, mode, partitionKeyRangeId, leasesPerRange, discardToken }
    return this.#prepare((given, attempt) => prepareLeases({ ...known, ...given }, attempt), signal)
  }

  /**
   * For a host that was in the group when the store lost its data. Tries until it succeeds. Rejects with
   * ERR_LEASES_VANISHED when the leases cannot be created again, and with `signal.reason`.
   */
  async reenter(
    { generation, atMs, unreported }: StoreLoss,
    keys: readonly FeedRange[],
    signal: AbortSignal,
  ): Promise<EnteredGroup> {
    const { feed, start, mode } = this.#options
    const mirror = this.#mirror
    if (mirror === undefined) throw new LeasesVanishedError(`${feed.description} has no positions`)
    this.#deadlineMs = undefined
    this.#loss = { generation, atMs }
    const known = { feed, mirror, start, mode, keys, unreported }
    return this.#prepare((given, attempt) => recoverLeases({ ...known, ...given }, attempt), signal)
  }

  async #prepare(prepare: Prepare, signal: AbortSignal): Promise<EnteredGroup> {
    const { clock, random, startTimeoutMs: timeoutMs, leaseRenewIntervalMs } = this.#options
    const onFailure = (error: unknown): void => void (this.lastError = error)
    for (;;) {
      const { group, prepared } = await retryUntil(
        (attempt) => this.#attempt(prepare, attempt),
        { clock, random, deadlineMs: this.#deadlineMs, timeoutMs, onFailure },
        signal,
      )
      this.lastError = undefined
      if (prepared.kind === 'ready') {
        const presence = await this.#options.leases.presence?.announce()
        return { ...this.#entered(group, prepared), presence }
      }
      await group.close()
      // A host that was in the group has told already what it saw.
      if (prepared.damage !== undefined && this.#deadlineMs !== undefined) {
        this.#emit('leasesDamaged', { ...prepared.damage, action: 'recover' })
      }
      this.#noteLoss(prepared.generation)
      // Others may make them first, whose time is over sooner.
      await clock.sleep(Math.min(leaseRenewIntervalMs, Math.max(1, this.#restMs())), signal)
    }
  }

  /** Each attempt has a group of its own, and closes it if it fails. */
  async #attempt(
    prepare: Prepare,
    signal: AbortSignal,
  ): Promise<{ readonly group: LeaseGroup; readonly prepared: PreparedLeases }> {
    const { leases, group: name, onLeaseStoreLoss, feed, random } = this.#options
    const canRecover = onLeaseStoreLoss === 'recover'
    const isOver = this.#loss !== undefined && this.#restMs() <= 0
    const mayCreateIn = isOver && canRecover ? this.#loss?.generation : undefined
    const nextGeneration = canRecover ? random.hex(8) : undefined
    const group = await leases.openGroup(name, { signal, feed })
    try {
      signal.throwIfAborted()
      await this.#tellDurability(signal)
      const prepared = await prepare({ group, mayCreateIn, nextGeneration }, signal)
      signal.throwIfAborted()
      const { kind, generation } = prepared
      if (kind === 'lost' && isOver && generation === this.#loss?.generation) {
        throw new LeasesVanishedError(
          `group ${name} has no leases, and ${feed.description} knows where it stood: refusing to begin anew; ` +
            "hostOptions.onLeaseStoreLoss 'recover' goes on from there",
        )
      }
      return { group, prepared }
    } catch (error) {
      await group.close()
      throw error
    }
  }

  async #tellDurability(signal: AbortSignal): Promise<void> {
    if (this.#isDurabilityTold) return
    const durability = await this.#options.leases.readDurability?.({ signal })
    signal.throwIfAborted()
    this.#isDurabilityTold = true
    if (durability !== undefined) this.#emit('leaseStoreDurability', durability)
  }

  #entered(
    group: LeaseGroup,
    { generation, leases, feed, origin }: Extract<PreparedLeases, { kind: 'ready' }>,
  ): Omit<EnteredGroup, 'presence'> {
    const loss = this.#loss
    if (loss !== undefined) {
      this.#loss = undefined
      const durationMs = this.#options.clock.monotonicMs() - loss.atMs
      const places = leases.map(({ id, range, checkpoint }) => {
        return { leaseId: id, range, lsn: checkpoint.lsn }
      })
      this.#emit('recovered', {
        generation,
        byThisHost: origin === 'recovered',
        leases: places,
        durationMs,
      })
    }
    return { group, generation, feed, keys: joinedRanges(leases.map(({ range }) => range)) }
  }

  #noteLoss(generation: string): void {
    if (this.#loss?.generation === generation) return
    const { clock, leaseExpirationIntervalMs, startTimeoutMs, onLeaseStoreLoss } = this.#options
    const atMs = clock.monotonicMs()
    const previousGeneration = this.#loss?.generation
    this.#loss = { generation, atMs }
    if (this.#deadlineMs !== undefined) {
      this.#deadlineMs = atMs + leaseExpirationIntervalMs + startTimeoutMs
    }
    const action = onLeaseStoreLoss
    this.#emit('leaseStoreLost', { generation, previousGeneration, action, known: 0 })
  }

  /** Until nobody can be left who owned a lease before the loss. */
  #restMs(): number {
    const { clock, leaseExpirationIntervalMs } = this.#options
    if (this.#loss === undefined) return 0
    return this.#loss.atMs + leaseExpirationIntervalMs - clock.monotonicMs()
  }
}
