import type { Clock, DocumentBody, RequestOptions } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { readAllProgress, type Ledger } from '../effectively-once/ledger.ts'
import { NEVER, type WatchedGroups } from '../workers/job-groups.ts'
import { migrationProgress, type MigrationProgress } from './migration-progress.ts'
import type { MigrationCounts } from './state-documents.ts'

const RATE_WINDOW_MS = 3_000

/** Answers how far a migration is, from its leases and its counters: in any process, working on it or not. */
export class MigrationWatch<S extends DocumentBody> {
  readonly #job: string
  readonly #source: Collection<S>
  readonly #groups: WatchedGroups<S>
  readonly #ledger: Pick<Ledger<MigrationCounts>, 'progress'>
  readonly #clock: Clock
  #readings: readonly { readonly applied: number; readonly atMs: number }[] = []

  constructor(watched: {
    readonly job: string
    readonly source: Collection<S>
    readonly groups: WatchedGroups<S>
    readonly ledger: Pick<Ledger<MigrationCounts>, 'progress'>
    readonly clock: Clock
  }) {
    this.#job = watched.job
    this.#source = watched.source
    this.#groups = watched.groups
    this.#ledger = watched.ledger
    this.#clock = watched.clock
  }

  /** Where the whole job stands. The rate is that of the last few seconds, as far as there were calls. */
  async progress({ signal }: RequestOptions = {}): Promise<MigrationProgress> {
    const [lag, sourceDocuments, progress] = await Promise.all([
      this.#groups.lag({ signal }),
      this.#source.count(),
      readAllProgress(this.#ledger, { signal }),
    ])
    const atMs = this.#clock.monotonicMs()
    const reading = { job: this.#job, lag, progress, sourceDocuments, atMs }
    this.#readings = this.#readings.filter((earlier) => atMs - earlier.atMs <= RATE_WINDOW_MS)
    const answer = migrationProgress(reading, this.#readings[0])
    this.#readings = [...this.#readings, { applied: answer.documents + answer.updates, atMs }]
    return answer
  }

  /**
   * Resolves at an instant at which the lag of every range is zero, whichever workers they belong to.
   * Stop the writers first: with them at rest, source and target say the same from then on.
   */
  async cutOver({ signal = NEVER }: RequestOptions = {}): Promise<MigrationProgress> {
    await this.#groups.untilZeroLag(signal)
    return this.progress({ signal })
  }
}
