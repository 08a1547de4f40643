import type {
  ChangeFeedSource,
  Checkpoint,
  Clock,
  DocumentBody,
  FeedMode,
  HeldLease,
  NewLease,
} from '@tidemark/contracts'
import {
  joinableRuns,
  runsAtOnePlace,
  type JoinCandidate,
} from '../load-balancing/joinable-runs.ts'

/** A pump as the joiner needs it. */
export interface JoinablePump {
  idlePosition(): Checkpoint | undefined
  refresh(): void
}

/** A lease that is worked on at this moment. */
export interface JoinableLease extends JoinCandidate {
  readonly pump: JoinablePump
}

export interface LeaseJoinerOptions<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly mode: FeedMode
  readonly clock: Clock
  /** Leases that are worked on. */
  readonly running: () => readonly JoinableLease[]
  readonly join: (held: readonly HeldLease[], next: NewLease) => void
}

/** Between two looks: doubles while there is nothing to join. */
const FIRST_LOOK_MS = 5_000
const LONGEST_PAUSE_MS = 300_000
/** For readers that were sent to look whether there is more. */
const REFRESH_MS = 250

/**
 * Makes one lease of neighbouring ones that a merge has put into one pkrange (decision 0023). It is
 * an improvement and no duty: whatever fails or changes meanwhile is left for the next look.
 */
export class LeaseJoiner<T extends DocumentBody> {
  readonly #options: LeaseJoinerOptions<T>
  readonly #stop = new AbortController()
  #rest = new AbortController()
  #pauseMs = FIRST_LOOK_MS
  #loop: Promise<void> = Promise.resolve()

  constructor(options: LeaseJoinerOptions<T>) {
    this.#options = options
  }

  /** Does nothing for feeds that cannot join positions. */
  start(): void {
    if (this.#options.feed.joinPositions !== undefined) this.#loop = this.#run()
  }

  /** Ranges or leases have changed: there may be something to join soon. */
  changed(): void {
    if (this.#pauseMs === FIRST_LOOK_MS) return
    this.#pauseMs = FIRST_LOOK_MS
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
      try {
        await clock.sleep(this.#pauseMs, AbortSignal.any([signal, this.#rest.signal]))
      } catch {
        // Stopped, or told to look sooner.
        continue
      }
      const joined = await this.#look().catch(() => 0)
      // A feed that does not answer is told of by the readers.
      this.#pauseMs = joined > 0 ? FIRST_LOOK_MS : Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
    }
  }

  /** Returns how many joins it began. */
  async #look(): Promise<number> {
    const { feed, running, clock } = this.#options
    const { signal } = this.#stop
    if (joinableRuns(running()).length === 0) return 0
    const present = await feed.readFeedRanges({ signal })
    const runs = joinableRuns(running(), present)
    if (runs.length === 0) return 0
    // Readers of one pkrange are told its newest LSN when they read to the end: after this, quiet ones agree.
    for (const { pump } of runs.flat()) pump.refresh()
    await clock.sleep(REFRESH_MS, signal)
    let joins = 0
    for (const run of runs) {
      for (const part of runsAtOnePlace(run.flatMap(idleLease))) {
        if (await this.#tryJoin(part)) joins += 1
      }
    }
    return joins
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
