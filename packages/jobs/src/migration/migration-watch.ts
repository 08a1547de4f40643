import {
  feedRangeId,
  rangesOverlap,
  type Clock,
  type DocumentBody,
  type DocumentCollection,
  type LeaseGroup,
} from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { newestPositions, readLag, waitForZeroLag } from './migration-lag.ts'
import { migrationProgress, type MigrationProgress } from './migration-progress.ts'
import { PROGRESS_PARTITION, type RangeProgress } from './state-documents.ts'

const POLL_MS = 50
const RATE_WINDOW_MS = 3_000

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
}

/** Answers how far a migration is, from its leases and its counters: in any process, working on it or not. */
export class MigrationWatch<S extends DocumentBody> {
  readonly #job: string
  readonly #source: Collection<S>
  readonly #leases: LeaseGroup
  readonly #progress: DocumentCollection<RangeProgress>
  readonly #clock: Clock
  #readings: readonly { readonly applied: number; readonly atMs: number }[] = []

  constructor(watched: {
    readonly job: string
    readonly source: Collection<S>
    readonly leases: LeaseGroup
    readonly progress: DocumentCollection<RangeProgress>
    readonly clock: Clock
  }) {
    this.#job = watched.job
    this.#source = watched.source
    this.#leases = watched.leases
    this.#progress = watched.progress
    this.#clock = watched.clock
  }

  /** Where the whole job stands. The rate is that of the last few seconds, as far as there were calls. */
  async progress({ signal }: WaitOptions = {}): Promise<MigrationProgress> {
    const [lag, sourceDocuments, { documents: progress }] = await Promise.all([
      readLag(this.#source, this.#leases, signal),
      this.#source.count(),
      this.#progress.readPartition(PROGRESS_PARTITION, { signal }),
    ])
    const atMs = this.#clock.monotonicMs()
    const reading = { job: this.#job, lag, progress, sourceDocuments, atMs }
    this.#readings = this.#readings.filter((earlier) => atMs - earlier.atMs <= RATE_WINDOW_MS)
    const answer = migrationProgress(reading, this.#readings[0])
    this.#readings = [...this.#readings, { applied: answer.documents + answer.updates, atMs }]
    return answer
  }

  /** Resolves when everything that was committed to the source before the call is at the target. */
  async caughtUp({ signal = NEVER }: WaitOptions = {}): Promise<void> {
    const wanted = await newestPositions(this.#source, signal)
    const ranges = await this.#source.readFeedRanges({ signal })
    for (;;) {
      const lag = await readLag(this.#source, this.#leases, signal)
      const reached = lag?.every((own) => {
        const goals = ranges
          .filter((range) => rangesOverlap(range, own.range))
          .map((range) => wanted.get(feedRangeId(range)) ?? 0)
        return own.lag === 0 || own.checkpointLsn >= Math.max(...goals)
      })
      if (reached === true) return
      await this.#clock.sleep(POLL_MS, signal)
    }
  }

  /**
   * Resolves at an instant at which the lag of every range is zero, whichever workers they belong to.
   * Stop the writers first: with them at rest, source and target say the same from then on.
   */
  async cutOver({ signal = NEVER }: WaitOptions = {}): Promise<MigrationProgress> {
    await waitForZeroLag(this.#source, this.#leases, { clock: this.#clock, signal })
    return this.progress({ signal })
  }

  async close(): Promise<void> {
    await this.#leases.close()
  }
}

/** For callers that do not want to give up. */
const NEVER: AbortSignal = new AbortController().signal
