import type { Clock, DocumentBody, DocumentCollection, RequestOptions } from '@tidemark/contracts'
import type { ChangeFeedEstimator } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { readLag, waitForZeroLag } from '../workers/range-lag.ts'
import type { MigrationGroups } from './migration-groups.ts'
import { migrationProgress, type MigrationProgress } from './migration-progress.ts'
import { PROGRESS_PARTITION, type RangeProgress } from './state-documents.ts'

const RATE_WINDOW_MS = 3_000

/** Answers how far a migration is, from its leases and its counters: in any process, working on it or not. */
export class MigrationWatch<S extends DocumentBody> {
  readonly #job: string
  readonly #source: Collection<S>
  readonly #groups: MigrationGroups<S>
  readonly #progress: DocumentCollection<RangeProgress>
  readonly #clock: Clock
  #readings: readonly { readonly applied: number; readonly atMs: number }[] = []

  constructor(watched: {
    readonly job: string
    readonly source: Collection<S>
    readonly groups: MigrationGroups<S>
    readonly progress: DocumentCollection<RangeProgress>
    readonly clock: Clock
  }) {
    this.#job = watched.job
    this.#source = watched.source
    this.#groups = watched.groups
    this.#progress = watched.progress
    this.#clock = watched.clock
  }

  /** Where the whole job stands. The rate is that of the last few seconds, as far as there were calls. */
  async progress({ signal }: RequestOptions = {}): Promise<MigrationProgress> {
    const { copy, deletes } = this.#groups
    const [lag, deletesLag, sourceDocuments, { documents: progress }] = await Promise.all([
      readLag(copy, signal),
      deletes && readLag(deletes, signal),
      this.#source.count(),
      this.#progress.readPartition(PROGRESS_PARTITION, { signal }),
    ])
    const atMs = this.#clock.monotonicMs()
    const reading = { job: this.#job, lag, deletesLag, progress, sourceDocuments, atMs }
    this.#readings = this.#readings.filter((earlier) => atMs - earlier.atMs <= RATE_WINDOW_MS)
    const answer = migrationProgress(reading, this.#readings[0])
    this.#readings = [...this.#readings, { applied: answer.documents + answer.updates, atMs }]
    return answer
  }

  /** Resolves when everything that was committed to the source before the call is at the target. */
  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    await Promise.all(this.#all().map((group) => group.untilCaughtUp({ signal })))
  }

  /**
   * Resolves at an instant at which the lag of every range is zero, whichever workers they belong to.
   * Stop the writers first: with them at rest, source and target say the same from then on.
   */
  async cutOver({ signal = NEVER }: RequestOptions = {}): Promise<MigrationProgress> {
    await waitForZeroLag(this.#source, this.#all(), { clock: this.#clock, signal })
    return this.progress({ signal })
  }

  async close(): Promise<void> {
    for (const group of this.#all()) await group[Symbol.asyncDispose]()
  }

  #all(): readonly ChangeFeedEstimator<S>[] {
    const { copy, deletes } = this.#groups
    return deletes === undefined ? [copy] : [copy, deletes]
  }
}

/** For callers that do not want to give up. */
const NEVER: AbortSignal = new AbortController().signal
