import {
  checkedGroupName,
  FULL_RANGE,
  feedRangeId,
  GroupOfOtherFeedError,
  InvalidOptionError,
  LeasesChangedError,
  rangesOverlap,
  systemClock,
  type ChangeFeedSource,
  type Clock,
  type FeedMode,
  type FeedRange,
  type LeaseGroup,
  type LeaseStore,
  type LeaseTransition,
  checkedStart,
  type RequestOptions,
  type StartPosition,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import {
  claimFeed,
  groupFeedOf,
  otherFeedOf,
  refuseOtherFeed,
} from '../bootstrapping/follow-feed.ts'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'
import { createLeasesAt } from './create-leases-at.ts'
import type { WantedPosition } from './cut-lease.ts'
import { groupStatus, liveOwner, type GroupStatus } from './group-status.ts'
import { movePositions, type MovedLease, type MovePositionsOptions } from './move-positions.ts'
import {
  positionsSnapshot,
  snapshotPositions,
  type PositionsSnapshot,
} from './positions-snapshot.ts'
import {
  waitUntilDrained,
  whileDrained,
  type MoveOptions,
  type WaitUntilDrainedOptions,
} from './while-drained.ts'

export interface ProcessorGroupOptions {
  /** Where the group's hosts keep their leases. */
  readonly leases: LeaseStore
  /** The processor group. */
  readonly group: string
  /** The feed of the group. `seek` and `restore` need it. @default none */
  readonly feed?: ChangeFeedSource | undefined
  /** The mode of the group. @default the mode of its stored positions */
  readonly mode?: FeedMode | undefined
  /** @default the system's */
  readonly clock?: Clock | undefined
}

export interface SeekOptions {
  /** The new position. A continuation must be of this feed, and of ranges that contain the ranges that move. */
  readonly to: StartPosition
  /** Only keys in these ranges. Leases that also have other keys are split. @default all keys of the group */
  readonly ranges?: readonly FeedRange[] | undefined
  /**
   * If the group follows another feed, such as a collection of this name that was dropped: `move` makes it follow `feed`
   * from the position on; hosts that still read the other feed stop. @default 'refuse': ERR_GROUP_OF_OTHER_FEED
   */
  readonly ofOtherFeed?: 'refuse' | 'move' | undefined
}

const RULES: OptionRules<ProcessorGroupOptions> = {
  leases: requiredOption(option.leases),
  group: requiredOption(option.text),
  feed: option.feed,
  mode: option.text,
  clock: option.clock,
}

/** Of a lease that others change again and again. */
const ATTEMPT_LIMIT = 12
const PAUSE_MS = 50

/**
 * Operations on a processor group, from any process, safe while hosts run. Hosts notice them, and the previous owner
 * of a lease that is moved or released is refused from then on. None of them needs a running host.
 *
 * Close it at the end, or acquire it with `await using`. Rejects with what the lease store rejects with.
 */
export class ProcessorGroup implements AsyncDisposable {
  readonly group: string
  readonly #options: ProcessorGroupOptions
  readonly #clock: Clock
  #opened: Promise<LeaseGroup> | undefined

  /** @throws ERR_INVALID_OPTION naming the option, and for a name that no group can have */
  constructor(options: ProcessorGroupOptions) {
    checkOptions(options, RULES)
    this.group = checkedGroupName(options.group)
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  async status({ signal }: RequestOptions = {}): Promise<GroupStatus> {
    const group = await this.#open(signal)
    const [snapshot, summaries = []] = await Promise.all([
      group.read(signal),
      group.readSummaries?.(signal),
    ])
    return groupStatus(this.group, snapshot, summaries)
  }

  /**
   * What became of the group's leases, oldest first: about the last 2,000 transitions, as the hosts told them with their
   * heartbeats. Empty where the lease store keeps none.
   */
  async transitions({ signal }: RequestOptions = {}): Promise<readonly LeaseTransition[]> {
    return (await (await this.#open(signal)).readTransitions?.(signal)) ?? []
  }

  /**
   * From now on no host gets a lease. Hosts finish their current batches, store their positions and release their
   * leases. They stay connected, and continue exactly there after `resume`. A group without hosts or leases can also
   * be paused: it starts when you resume it. Returns false if it was already paused. See `waitUntilDrained`.
   */
  async pause({ signal }: RequestOptions = {}): Promise<boolean> {
    return (await this.#open(signal)).setPaused(true, signal)
  }

  /** Returns false if it was not paused. */
  async resume({ signal }: RequestOptions = {}): Promise<boolean> {
    return (await this.#open(signal)).setPaused(false, signal)
  }

  /**
   * Resolves to true when no live host has a lease of the paused group any more, to false after `timeoutMs`. A host
   * that died counts as live until its session expires.
   */
  async waitUntilDrained(options: WaitUntilDrainedOptions = {}): Promise<boolean> {
    return waitUntilDrained(await this.#open(options.signal), this.#clock, options)
  }

  /**
   * Moves the group, or some of its ranges, to another position. If you move it back, the changes in between are
   * delivered again, in order; if you move it ahead, they are skipped. The group is paused meanwhile, so that current
   * batches end first. The numbers of attempts start again from 0. Returns what was done to each lease, in EPK order.
   *
   * If all leases of the group were deleted from outside, it gets new ones at the position.
   *
   * Many leases move in several atomic steps. If one fails, the earlier steps stay done; repeat the call. Rejects
   * with ERR_INVALID_OPTION when there are no such leases, ERR_INVALID_CONTINUATION,
   * ERR_GROUP_OF_OTHER_FEED, ERR_LEASES_CHANGED.
   */
  async seek(to: SeekOptions, options: MoveOptions = {}): Promise<readonly MovedLease[]> {
    // What is wrong is told before anything is paused.
    await this.previewSeek(to, options)
    return this.#whileDrained(options, () => this.#seek(to, 'move', options.signal))
  }

  /** What `seek` would do now. */
  previewSeek(to: SeekOptions, { signal }: RequestOptions = {}): Promise<readonly MovedLease[]> {
    return this.#seek(to, 'preview', signal)
  }

  /**
   * Takes a lease from its owner, without its current batch; position and number of attempts stay. It is assigned
   * again, with a new observer, perhaps to the same host. Returns the host that had it.
   *
   * Rejects with ERR_INVALID_OPTION when there is no such lease, ERR_LEASES_CHANGED.
   */
  async release(leaseId: string, { signal }: RequestOptions = {}): Promise<string | undefined> {
    const group = await this.#open(signal)
    const waiting = signal ?? new AbortController().signal
    for (let attempt = 1; attempt <= ATTEMPT_LIMIT; attempt += 1) {
      const { leases, hosts } = await group.read(signal)
      const lease = leases.find(({ id }) => id === leaseId)
      if (lease === undefined) throw this.#noLease(leaseId, leases)
      const { range, checkpoint, epoch } = lease
      const request = { old: [{ leaseId, epoch }], next: [{ range, checkpoint }] }
      if ((await group.override(request, signal)) !== 'changed') return liveOwner(lease, hosts)
      await this.#clock.sleep(PAUSE_MS * attempt, waiting)
    }
    throw new LeasesChangedError(`others changed lease ${leaseId} ${ATTEMPT_LIMIT} times first`)
  }

  /**
   * The positions of the group, as JSON to keep. While the group runs, these are the last stored positions of each
   * range; pause it first to get those of one moment.
   */
  async snapshot({ signal }: RequestOptions = {}): Promise<PositionsSnapshot> {
    const { leases } = await (await this.#open(signal)).read(signal)
    const positions = leases.map(({ id, checkpoint: { continuation, lsn } }) => {
      return { range: id, continuation, lsn }
    })
    const feed = this.#options.feed?.identity
    const takenAtMs = this.#clock.wallMs()
    return positionsSnapshot({ group: this.group, feed, takenAtMs }, positions)
  }

  /**
   * Moves the group to the positions of a snapshot, which may be of another group of the same feed. If ranges were
   * split or merged since, leases are split so that each key continues exactly at its position. Keys that are not in
   * the snapshot keep their positions. Otherwise like `seek`.
   *
   * If the group has no leases, they are created, provided that the snapshot covers every key. Rejects as `seek` does.
   */
  async restore(
    snapshot: PositionsSnapshot,
    options: MoveOptions = {},
  ): Promise<readonly MovedLease[]> {
    await this.previewRestore(snapshot, options)
    return this.#whileDrained(options, () => this.#restore(snapshot, 'move', options.signal))
  }

  /** What `restore` would do now. */
  previewRestore(
    snapshot: PositionsSnapshot,
    { signal }: RequestOptions = {},
  ): Promise<readonly MovedLease[]> {
    return this.#restore(snapshot, 'preview', signal)
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    await (await opened)?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #seek(
    { to, ranges = [FULL_RANGE], ofOtherFeed = 'refuse' }: SeekOptions,
    purpose: MovePositionsOptions['purpose'],
    signal: AbortSignal | undefined,
  ): Promise<readonly MovedLease[]> {
    const feed = this.#feed('seek')
    const start = checkedStart('to', to)
    const group = await this.#open(signal)
    const snapshot = await group.read(signal)
    const { leases, isEmptied = false } = snapshot
    const wanted = checkedRanges(ranges).map((range) => ({ range, start }))
    const overlap = leases.some(({ range }) =>
      wanted.some((one) => rangesOverlap(one.range, range)),
    )
    if (!overlap && !isEmptied) throw this.#noLease(ranges.map(feedRangeId).join(', '), leases)
    const waiting = signal ?? new AbortController().signal
    const parts = this.#parts({ group, feed, purpose })
    const own = await groupFeedOf(feed, signal)
    const other = own && otherFeedOf(snapshot, own.rid)
    if (own !== undefined && other !== undefined) {
      const isWhole = keysNotIn([FULL_RANGE], ranges).length === 0
      if (ofOtherFeed === 'refuse' || !isWhole) {
        throw new GroupOfOtherFeedError({ group: this.group, follows: other, feed: own })
      }
      if (purpose === 'move') await group.claimFeed?.(own, { insteadOf: other.rid, signal })
    }
    if (isEmptied) {
      const created = await createLeasesAt(wanted, parts, waiting)
      if (created !== 'lost') return created
    }
    const moved = await movePositions(wanted, parts, waiting)
    // LSNs of another feed are not to be compared.
    return other === undefined ? moved : moved.map((one) => ({ ...one, fromLsn: undefined }))
  }

  async #restore(
    snapshot: PositionsSnapshot,
    purpose: MovePositionsOptions['purpose'],
    signal: AbortSignal | undefined,
  ): Promise<readonly MovedLease[]> {
    const feed = this.#feed('restore')
    const held = snapshotPositions(snapshot)
    const group = await this.#open(signal)
    const wanted = held.map(({ range, continuation }): WantedPosition => {
      return { range, start: { continuation } }
    })
    const parts = this.#parts({ group, feed, purpose })
    const waiting = signal ?? new AbortController().signal
    const present = await group.read(signal)
    const own = await refuseOtherFeed(present, { feed, group: this.group }, signal)
    if (present.leases.length === 0) {
      const created = await createLeasesAt(wanted, parts, waiting)
      if (created !== 'lost') return created
    } else if (purpose === 'move') await claimFeed(present, { own, group }, signal)
    return movePositions(wanted, parts, waiting)
  }

  async #whileDrained<Result>(options: MoveOptions, act: () => Promise<Result>): Promise<Result> {
    const group = await this.#open(options.signal)
    return whileDrained({ group, clock: this.#clock }, options, act)
  }

  #parts(parts: Pick<MovePositionsOptions, 'group' | 'feed' | 'purpose'>): MovePositionsOptions {
    return { ...parts, clock: this.#clock, mode: this.#options.mode }
  }

  #feed(what: string): ChangeFeedSource {
    const { feed } = this.#options
    if (feed !== undefined) return feed
    throw new InvalidOptionError(`${what} needs the feed that group ${this.#shown} follows`)
  }

  #noLease(wanted: string, leases: readonly { readonly id: string }[]): InvalidOptionError {
    const ids = leases.map(({ id }) => id)
    const some = ids.length > 20 ? [...ids.slice(0, 20), '…'] : ids
    return new InvalidOptionError(
      `group ${this.#shown} has no lease of ${wanted}; it has ${some.join(', ') || 'none at all'}`,
    )
  }

  get #shown(): string {
    return JSON.stringify(this.group)
  }

  /** A handle that could not be opened is tried again. */
  async #open(signal: AbortSignal | undefined): Promise<LeaseGroup> {
    signal?.throwIfAborted()
    const { leases, feed } = this.#options
    this.#opened ??= leases.openGroup(this.group, { signal, feed })
    try {
      return await this.#opened
    } catch (error) {
      this.#opened = undefined
      throw error
    }
  }
}

/** @throws ERR_INVALID_OPTION when two of them share a key, or one has none */
function checkedRanges(ranges: readonly FeedRange[]): readonly FeedRange[] {
  const sorted = [...ranges].sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
  for (const [index, range] of sorted.entries()) {
    const next = sorted[index + 1]
    const isEmpty = range.minInclusive >= range.maxExclusive
    if (isEmpty || (next !== undefined && rangesOverlap(range, next))) {
      throw new InvalidOptionError(
        `range ${feedRangeId(range)} is empty, or shares keys with another one that was given`,
      )
    }
  }
  return sorted
}
