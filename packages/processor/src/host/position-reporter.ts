import {
  feedRangeId,
  type Clock,
  type FeedRange,
  type GroupPosition,
  type GroupPositions,
  type Lsn,
} from '@tidemark/contracts'

export interface PositionReporterOptions {
  readonly positions: GroupPositions
  readonly group: string
  readonly clock: Clock
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
/** For the last report of a host that stops. */
const LAST_REPORT_MS = 2_000

/**
 * Tells the feed how far the group has come, so that it knows what may be purged (TTL-14). Only stored
 * positions are told, about once a second at most. A report that fails is repeated with the newest
 * positions; nothing else waits for it.
 */
export class PositionReporter {
  readonly #options: PositionReporterOptions
  readonly #pending = new Map<string, GroupPosition>()
  readonly #stop = new AbortController()
  #hurry = new AbortController()
  #nextMs = -Infinity
  #failures = 0
  #running: Promise<void> | undefined

  constructor(options: PositionReporterOptions) {
    this.#options = options
  }

  /** The store has this position now. */
  stored(range: FeedRange, lsn: Lsn): void {
    if (this.#stop.signal.aborted) return
    const { group } = this.#options
    const { minInclusive, maxExclusive } = range
    this.#pending.set(feedRangeId(range), { group, range: { minInclusive, maxExclusive }, lsn })
    this.#running ??= this.#run()
  }

  /** The lease is not this host's any more: its owner tells where it stands. */
  forget(leaseId: string): void {
    this.#pending.delete(leaseId)
  }

  /** Reports at once what is pending: a lease was given back. */
  hurry(): void {
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
    // Positions of several leases come in one turn: they go together.
    await Promise.resolve()
    while (this.#pending.size > 0) {
      this.#hurry = new AbortController()
      const signal = AbortSignal.any([this.#stop.signal, this.#hurry.signal])
      const restMs = this.#nextMs - clock.monotonicMs()
      if (restMs > 0) await clock.sleep(restMs, signal).catch(() => {})
      if (this.#stop.signal.aborted) break
      await this.#report()
      const pauseMs = Math.min(LONGEST_PAUSE_MS, REPORT_INTERVAL_MS * 2 ** this.#failures)
      this.#nextMs = clock.monotonicMs() + pauseMs
    }
    this.#running = undefined
  }

  async #report(): Promise<void> {
    const { positions, onFailure } = this.#options
    const taken = [...this.#pending]
    this.#pending.clear()
    try {
      await positions.report(taken.map(([, position]) => position))
      this.#failures = 0
    } catch (error) {
      this.#failures += 1
      // What came meanwhile is newer.
      for (const [id, position] of taken) {
        if (!this.#pending.has(id)) this.#pending.set(id, position)
      }
      onFailure({ error, positions: taken.length, attempt: this.#failures })
    }
  }
}
