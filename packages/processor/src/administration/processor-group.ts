import {
  checkedGroupName,
  FULL_RANGE,
  feedRangeId,
  InvalidOptionError,
  LeasesChangedError,
  rangesOverlap,
  systemClock,
  checkOptions,
  option,
  requiredOption,
  type ChangeFeedSource,
  type Clock,
  type FeedMode,
  type FeedRange,
  type LeaseGroup,
  type LeaseStore,
  checkedStart,
  type RequestOptions,
  type StartPosition,
  type OptionRules,
} from '@tidemark/contracts'
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
  readonly group: string
  /** What the group follows. Needed by `seek` and `restore`. */
  readonly feed?: ChangeFeedSource | undefined
  /** What the group reads. @default what the positions of its leases are of */
  readonly mode?: FeedMode | undefined
  /** @default the system's */
  readonly clock?: Clock | undefined
}

export interface SeekOptions {
  /** Where it is to go on. A continuation is of this feed, and of ranges that contain those that are moved. */
  readonly to: StartPosition
  /** Only keys in these. Leases that have others too are cut. @default all that the group has */
  readonly ranges?: readonly FeedRange[] | undefined
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
 * What an operator does with a processor group, from any process, safely while hosts run: they notice by themselves,
 * and whoever worked on what is moved or released is refused from then on. Nothing needs a host to be there.
 *
 * Close it at the end, or acquire it with `await using`. Rejects with what the lease store rejects with.
 */
export class ProcessorGroup implements AsyncDisposable {
  readonly group: string
  readonly #options: ProcessorGroupOptions
  readonly #clock: Clock
  #opened: Promise<LeaseGroup> | undefined

  /** @throws ERR_INVALID_OPTION naming the option, and when no group can have this name */
  constructor(options: ProcessorGroupOptions) {
    checkOptions(options, RULES)
    this.group = checkedGroupName(options.group)
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  async status({ signal }: RequestOptions = {}): Promise<GroupStatus> {
    const group = await this.#open(signal)
    return groupStatus(this.group, await group.read(signal))
  }

  /**
   * From now on no host gets a lease. Those who have some finish what they have in hand, store where they are and
   * give them back; they stay, and go on exactly there after `resume`. Also for a group without hosts or leases
   * yet: it begins when it is resumed. Returns false when it was paused already. See `waitUntilDrained`.
   */
  async pause({ signal }: RequestOptions = {}): Promise<boolean> {
    return (await this.#open(signal)).setPaused(true, signal)
  }

  /** Returns false when it was not paused. */
  async resume({ signal }: RequestOptions = {}): Promise<boolean> {
    return (await this.#open(signal)).setPaused(false, signal)
  }

  /**
   * Resolves true when no live host has a lease of a paused group any more, false after `timeoutMs`. A host that
   * died counts for as long as its session would have lasted.
   */
  async waitUntilDrained(options: WaitUntilDrainedOptions = {}): Promise<boolean> {
    return waitUntilDrained(await this.#open(options.signal), this.#clock, options)
  }

  /**
   * Lets the group, or some ranges of it, go on from another position. Lower: what is between is delivered again,
   * in order; higher: it is skipped. The group is paused meanwhile, so that what is in hand is over before.
   * Counts of tries begin anew. Returns what was done to each lease, in EPK order.
   *
   * Many leases are moved in several steps, each atomic; what fails in between leaves the others moved, and may be
   * repeated. Rejects with ERR_INVALID_OPTION when there are no such leases, ERR_INVALID_CONTINUATION,
   * ERR_LEASES_CHANGED.
   */
  async seek(to: SeekOptions, options: MoveOptions = {}): Promise<readonly MovedLease[]> {
    // What is wrong is told before anything is paused.
    await this.previewSeek(to, options)
    return this.#whileDrained(options, () => this.#seek(to, 'move', options.signal))
  }

  /** What `seek` would do at this moment. */
  previewSeek(to: SeekOptions, { signal }: RequestOptions = {}): Promise<readonly MovedLease[]> {
    return this.#seek(to, 'preview', signal)
  }

  /**
   * Takes a lease from its owner, without the batch that is in hand; position and tries stay. It is given out anew,
   * to a fresh observer, of the same host if that has the room for it. Returns the host that had it.
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
   * Where the group stands, as JSON to be kept. Of a group that runs it is the last stored position of each range;
   * pause it first to have them of one moment.
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
   * Lets the group go on where a snapshot says, which may be of another group of the same feed. Ranges that were
   * split or merged since are cut, so that each key goes on exactly where it stood. Keys that the snapshot does not
   * have stay where they are. As `seek` otherwise.
   *
   * A group without leases gets them from a snapshot that covers every key.
   */
  async restore(
    snapshot: PositionsSnapshot,
    options: MoveOptions = {},
  ): Promise<readonly MovedLease[]> {
    await this.previewRestore(snapshot, options)
    return this.#whileDrained(options, () => this.#restore(snapshot, 'move', options.signal))
  }

  /** What `restore` would do at this moment. */
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
    { to, ranges = [FULL_RANGE] }: SeekOptions,
    purpose: MovePositionsOptions['purpose'],
    signal: AbortSignal | undefined,
  ): Promise<readonly MovedLease[]> {
    const feed = this.#feed('seek')
    const start = checkedStart('to', to)
    const group = await this.#open(signal)
    const { leases } = await group.read(signal)
    const wanted = checkedRanges(ranges).map((range) => ({ range, start }))
    if (!leases.some(({ range }) => wanted.some((one) => rangesOverlap(one.range, range)))) {
      throw this.#noLease(ranges.map(feedRangeId).join(', '), leases)
    }
    const waiting = signal ?? new AbortController().signal
    return movePositions(wanted, this.#parts({ group, feed, purpose }), waiting)
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
    if ((await group.read(signal)).leases.length === 0) {
      const created = await createLeasesAt(wanted, parts, waiting)
      if (created !== 'lost') return created
    }
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
    this.#opened ??= this.#options.leases.openGroup(this.group, { signal })
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
