import {
  LeaseStoreUnavailableError,
  feedRangeId,
  lsn,
  type Clock,
  type FeedRange,
  type GroupPosition,
  type GroupPositions,
  type Lsn,
} from '@tidemark/contracts'
import { epochsGroup } from '../bootstrapping/mirror-groups.ts'
import { Bell } from '../feed-processing/bell.ts'

export interface PositionReporterOptions {
  readonly positions: GroupPositions
  readonly group: string
  readonly clock: Clock
  /** Resolves when the positions that are stored are on disk. @default they are at once */
  readonly flush?: ((signal: AbortSignal) => Promise<void>) | undefined
  /** Must not throw. */
  readonly onFailure: (failure: {
    readonly error: unknown
    readonly positions: number
    readonly attempt: number
  }) => void
}

/** One report carries what came together meanwhile. */
const REPORT_INTERVAL_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** A late report of an earlier owner may have come last: an idle range must not stay behind for it. */
const REPEAT_MS = 300_000
/** For the last report of a host that stops. */
const LAST_REPORT_MS = 2_000
/** What hangs is tried again. */
const LONGEST_FLUSH_MS = 2_000

/**
 * Tells the feed how far the group has come, so that it knows what may be purged (TTL-14). Only positions
 * that are on disk are told, about once a second at most. A report that fails is repeated with the newest
 * positions; nothing else waits for it.
 */
export class PositionReporter {
  readonly #options: PositionReporterOptions
  /** Of the leases that are held, as last stored. */
  readonly #known = new Map<string, GroupPosition>()
  readonly #pending = new Map<string, GroupPosition>()
  /** Epochs of leases that came, by range: those who create the leases again need them. */
  readonly #epochs = new Map<string, GroupPosition>()
  /** A report of them is under way. */
  #taken: readonly (readonly [string, GroupPosition])[] = []
  readonly #bell = new Bell()
  readonly #stop = new AbortController()
  #hurry = new AbortController()
  #nextMs = -Infinity
  #failures = 0
  /** Leases of which nothing is forgotten any more; undefined while the store has its data. */
  #kept: ReadonlySet<string> | undefined
  readonly #storeLost = new AbortController()
  #running: Promise<void> | undefined

  constructor(options: PositionReporterOptions) {
    this.#options = options
  }

  /** The store has this position now. */
  stored(range: FeedRange, lsn: Lsn): void {
    if (this.#stop.signal.aborted) return
    const { group } = this.#options
    const { minInclusive, maxExclusive } = range
    const leaseId = feedRangeId(range)
    const position = { group, range: { minInclusive, maxExclusive }, lsn }
    this.#known.set(leaseId, position)
    this.#pending.set(leaseId, position)
    this.#bell.ring()
    this.#running ??= this.#run()
  }

  /** A lease came at this epoch. */
  owned(range: FeedRange, epoch: number): void {
    if (this.#stop.signal.aborted) return
    const group = epochsGroup(this.#options.group)
    const { minInclusive, maxExclusive } = range
    const position = { group, range: { minInclusive, maxExclusive }, lsn: lsn(epoch) }
    this.#epochs.set(feedRangeId(range), position)
  }

  /**
   * The lease store lost its data, and nobody knows better where these leases stood. They are told at once
   * and never forgotten, and no others any more: of those that were given back another host knows more.
   */
  keep(positions: readonly { readonly range: FeedRange; readonly lsn: Lsn }[]): void {
    this.#kept = new Set(positions.map(({ range }) => feedRangeId(range)))
    this.#storeLost.abort()
    this.#pending.clear()
    for (const { range, lsn } of positions) {
      // Of two that overlap the later one is told last, and counts.
      this.#pending.delete(feedRangeId(range))
      this.stored(range, lsn)
    }
    this.#hurry.abort()
  }

  /** What the feed has not confirmed of the positions that are kept. */
  get unreported(): readonly GroupPosition[] {
    const all = new Map([...this.#taken, ...this.#pending])
    return [...all].flatMap(([id, position]) => (this.#kept?.has(id) === true ? [position] : []))
  }

  /** The lease is not this host's any more: its owner tells where it stands. */
  forget(leaseId: string): void {
    if (this.#kept !== undefined) return
    this.#known.delete(leaseId)
    this.#pending.delete(leaseId)
    this.#taken = this.#taken.filter(([id]) => id !== leaseId)
  }

  /** The lease was given back: its last position is told at once. */
  released(leaseId: string): void {
    this.#known.delete(leaseId)
    if (this.#failures === 0) this.#hurry.abort()
  }

  /** Reports what is pending once more, if the feed answers soon. */
  async stop(): Promise<void> {
    this.#stop.abort()
    const over = new AbortController()
    const limit = this.#options.clock.sleep(LAST_REPORT_MS, over.signal).catch(() => {})
    await Promise.race([this.#finish(), limit])
    over.abort()
  }

  async #finish(): Promise<void> {
    await this.#running
    if (this.#pending.size > 0) await this.#report()
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stop
    // Positions of several leases come in one turn: they go together.
    await Promise.resolve()
    while (!signal.aborted) {
      if (this.#pending.size === 0) {
        await this.#waitForPositions()
        continue
      }
      const restMs = this.#nextMs - clock.monotonicMs()
      const rest = AbortSignal.any([signal, this.#hurry.signal])
      if (restMs > 0) await clock.sleep(restMs, rest).catch(() => {})
      // What was pending may have been forgotten meanwhile.
      if (signal.aborted || this.#pending.size === 0) continue
      this.#hurry = new AbortController()
      await this.#report()
      const pauseMs = Math.min(LONGEST_PAUSE_MS, REPORT_INTERVAL_MS * 2 ** this.#failures)
      this.#nextMs = clock.monotonicMs() + pauseMs
    }
  }

  /** Until there is something new; after a long time everything that is held is told once more. */
  async #waitForPositions(): Promise<void> {
    const over = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, over.signal])
    let isOverdue = false
    const pause = this.#options.clock.sleep(REPEAT_MS, signal).then(
      () => (isOverdue = true),
      () => {},
    )
    await Promise.race([pause, this.#bell.next])
    over.abort()
    if (isOverdue) for (const [id, position] of this.#known) this.#pending.set(id, position)
  }

  async #report(): Promise<void> {
    const { positions, onFailure } = this.#options
    this.#taken = [...this.#pending]
    const epochs = [...this.#epochs]
    this.#pending.clear()
    this.#epochs.clear()
    try {
      await this.#flushed()
      const due = [...this.#taken, ...epochs].map(([, position]) => position)
      if (due.length > 0) await positions.report(due)
      this.#failures = 0
      this.#taken = []
    } catch (error) {
      this.#failures += 1
      const taken = this.#taken
      this.#taken = []
      // What came meanwhile is newer.
      for (const [id, epoch] of epochs) if (!this.#epochs.has(id)) this.#epochs.set(id, epoch)
      for (const [id, position] of taken) {
        const isDue = this.#kept?.has(id) ?? true
        if (isDue && !this.#pending.has(id)) this.#pending.set(id, position)
      }
      onFailure({ error, positions: taken.length, attempt: this.#failures })
    }
  }

  /** What was stored before is on disk, or lost with the store: then these positions are where its leases begin again. */
  async #flushed(): Promise<void> {
    const { flush, clock } = this.#options
    if (flush === undefined || this.#kept !== undefined) return
    const over = new AbortController()
    const end = AbortSignal.any([over.signal, this.#storeLost.signal])
    const limit = clock.sleep(LONGEST_FLUSH_MS, end).then(
      () => {
        throw new LeaseStoreUnavailableError(`no flush within ${LONGEST_FLUSH_MS} ms`)
      },
      () => {},
    )
    try {
      await Promise.race([flush(over.signal), limit])
    } finally {
      over.abort()
    }
  }
}
