import type {
  ChangeFeedSource,
  Checkpoint,
  Clock,
  DocumentBody,
  FeedMode,
  FeedRange,
  HeldLease,
  NewLease,
} from '@tidemark/contracts'
import type { KnownGroup } from '../lease-management/plan-follower.ts'
import {
  joinableRuns,
  runsAtOnePlace,
  type JoinCandidate,
} from '../load-balancing/joinable-runs.ts'
import {
  BOUNDS_PER_LEASE,
  leasesWithin,
  shapeOf,
  type RangeShape,
} from '../load-balancing/leases-per-range.ts'

/** A pump as the joiner needs it. */
export interface JoinablePump {
  idlePosition(): Checkpoint | undefined
  refresh(): void
}

/** A lease that is worked on at this moment. */
export interface JoinableLease extends JoinCandidate {
  readonly pump: JoinablePump
}

export interface LeaseShaperOptions<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly mode: FeedMode
  readonly clock: Clock
  /** The group as this host last saw it. */
  readonly group: () => KnownGroup
  /** Leases that are worked on. */
  readonly running: () => readonly JoinableLease[]
  readonly cut: (held: HeldLease, parts: readonly FeedRange[]) => void
  readonly join: (held: readonly HeldLease[], next: NewLease) => void
}

/** After a change of leases or hosts: until then others follow, so that one look does for all. */
const SOON_MS = 500
/** Between two looks after that: doubles while there is nothing to do. */
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 300_000
/** For readers that were sent to look whether there is more. */
const REFRESH_MS = 250

/**
 * Gives each pkrange the number of leases that it is to have (LE-15): cuts leases where there are too few, and makes one of
 * neighbours where there are too many, also after a merge (decision 0023). It is an improvement and no duty: whatever fails or
 * changes meanwhile is left for the next look.
 */
export class LeaseShaper<T extends DocumentBody> {
  readonly #options: LeaseShaperOptions<T>
  readonly #stop = new AbortController()
  #rest = new AbortController()
  #pauseMs = SOON_MS
  #loop: Promise<void> = Promise.resolve()

  constructor(options: LeaseShaperOptions<T>) {
    this.#options = options
  }

  /** Does nothing for feeds that can neither divide ranges nor join positions. */
  start(): void {
    const { feed } = this.#options
    if (feed.joinPositions !== undefined || feed.divideRange !== undefined) {
      this.#loop = this.#run()
    }
  }

  /** Ranges, leases or hosts have changed: there may be something to do soon. */
  changed(): void {
    if (this.#pauseMs === SOON_MS) return
    this.#pauseMs = SOON_MS
    this.#rest.abort()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      this.#rest = new AbortController()
      const pauseMs = this.#pauseMs
      try {
        await clock.sleep(pauseMs, AbortSignal.any([signal, this.#rest.signal]))
      } catch {
        // Stopped, or told to look sooner.
        continue
      }
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pauseMs))
      // A feed that does not answer is told of by the readers.
      const done = await this.#look({ joins: pauseMs > SOON_MS }).catch(() => 0)
      if (done > 0) this.#pauseMs = Math.min(this.#pauseMs, FIRST_PAUSE_MS)
    }
  }

  /** Returns how many cuts and joins it began. Joins can wait until the leases have come to rest. */
  async #look({ joins: withJoins }: { joins: boolean }): Promise<number> {
    const { feed, running, group } = this.#options
    const { signal } = this.#stop
    const { leasesPerRange } = group()
    const mayCut = leasesPerRange > 1 && feed.divideRange !== undefined
    const mayJoin = withJoins && feed.joinPositions !== undefined
    if (!mayCut && !(mayJoin && joinableRuns(running()).length > 0)) return 0
    const present = await feed.readFeedRanges({ signal })
    const shapes = await this.#shapes(present)
    let cuts = 0
    for (const { held, range } of running()) {
      const parts = shapes.map((shape) => shape.cuts.get(held.leaseId)).find(Boolean)
      if (parts === undefined || !mayCut) continue
      if (await this.#tryCut(held, range, parts)) cuts += 1
    }
    const joins = shapes.flatMap((shape) => shape.joins)
    return cuts + (mayJoin ? await this.#joinAll(joins) : 0)
  }

  /** What is to become of the group's leases, pkrange by pkrange; nothing of those that are as they are to be. */
  async #shapes(present: readonly FeedRange[]): Promise<readonly RangeShape[]> {
    const { feed, group, clock } = this.#options
    const { signal } = this.#stop
    const { leasesPerRange, leases } = group()
    const shapes: RangeShape[] = []
    for (const { pkRange, within } of leasesWithin(present, leases)) {
      if (within.length === leasesPerRange || within.length === 0) continue
      const count = BOUNDS_PER_LEASE * Math.max(leasesPerRange, within.length)
      const range = { minInclusive: pkRange.minInclusive, maxExclusive: pkRange.maxExclusive }
      // Of one lease that all of them become no measure is needed.
      const bounds =
        leasesPerRange === 1 ? [] : ((await feed.divideRange?.({ range, count, signal })) ?? [])
      shapes.push(
        shapeOf(
          within,
          leasesPerRange,
          bounds.map(({ minInclusive }) => minInclusive),
        ),
      )
      // There may be thousands of pkranges: heartbeats come between two of them.
      await clock.sleep(0, signal)
    }
    return shapes
  }

  async #tryCut(held: HeldLease, range: FeedRange, count: number): Promise<boolean> {
    const { feed, cut } = this.#options
    const { signal } = this.#stop
    const parts = (await feed.divideRange?.({ range, count, signal })) ?? []
    if (parts.length < 2 || signal.aborted) return false
    cut(held, parts)
    return true
  }

  async #joinAll(joins: readonly FeedRange[]): Promise<number> {
    const { running, clock } = this.#options
    const runs = joinableRuns(running(), joins)
    if (runs.length === 0) return 0
    // Readers of one pkrange are told its newest LSN when they read to the end: after this, quiet ones agree.
    for (const { pump } of runs.flat()) pump.refresh()
    await clock.sleep(REFRESH_MS, this.#stop.signal)
    let joined = 0
    for (const run of runs) {
      for (const part of runsAtOnePlace(run.flatMap(idleLease))) {
        if (await this.#tryJoin(part)) joined += 1
      }
    }
    return joined
  }

  async #tryJoin(leases: readonly IdleLease[]): Promise<boolean> {
    const { feed, mode, join } = this.#options
    const [first] = leases
    const last = leases.at(-1)
    if (first === undefined || last === undefined) return false
    const positions = leases.map(({ range, continuation }) => ({ range, continuation }))
    const request = { positions, mode, signal: this.#stop.signal }
    const joined = await feed.joinPositions?.(request)
    // From here on nothing waits: pumps that are idle at that position now are so when they are told to end.
    if (joined === undefined || this.#stop.signal.aborted) return false
    const stayed = leases.every(
      ({ pump, continuation }) => pump.idlePosition()?.continuation === continuation,
    )
    if (!stayed) return false
    const { minInclusive } = first.range
    const { maxExclusive } = last.range
    const { continuation, lsn } = joined
    join(
      leases.map(({ held }) => held),
      { range: { minInclusive, maxExclusive }, checkpoint: { continuation, lsn } },
    )
    return true
  }
}

type IdleLease = JoinableLease & Checkpoint

function idleLease(lease: JoinableLease): readonly IdleLease[] {
  const position = lease.pump.idlePosition()
  return position === undefined ? [] : [{ ...lease, ...position }]
}
