import type { RangeProgress } from '../effectively-once/ledger.ts'
import type { JobLag } from '../workers/job-groups.ts'
import type { RangeLag } from '../workers/range-lag.ts'
import { NO_COUNTS, addCounts, type MigrationCounts } from './state-documents.ts'

/** The progress of a migration, over all its workers. */
export interface MigrationProgress extends MigrationCounts {
  readonly job: string
  /**
   * `starting`: no worker has started, or the source is still asked which copies to remove. `copying`: documents that
   * existed at the start are being copied. `caughtUp`: the target has everything that was committed up to this reading.
   */
  readonly state: 'starting' | 'copying' | 'caughtUp'
  /** Documents in the source now. */
  readonly sourceDocuments: number
  /** Source documents that are not copied yet; an estimate while documents are deleted. */
  readonly remaining: number
  /** Transactions of the source that are not applied yet, over all ranges. */
  readonly lag: number
  /** Documents and updates applied per second by all workers in the last few seconds. */
  readonly ratePerSecond: number
  /** Seconds until the copy is complete at this rate; undefined if that is unknown. */
  readonly remainingSeconds: number | undefined
  /** Documents that wait for a target key at present. */
  readonly waiting: number
  readonly ranges: readonly RangeStatus[]
}

export interface RangeStatus extends RangeLag {
  /** Source documents of this range that were applied. */
  readonly documents: number
  readonly updates: number
}

export interface ProgressReading {
  readonly job: string
  readonly lag: JobLag
  readonly progress: readonly RangeProgress<MigrationCounts>[]
  readonly sourceDocuments: number
  readonly atMs: number
}

/** What a reading says, with the rate since an earlier one. */
export function migrationProgress(
  reading: ProgressReading,
  earlier: { readonly applied: number; readonly atMs: number } | undefined,
): MigrationProgress {
  const counts = reading.progress.reduce<MigrationCounts>(addCounts, NO_COUNTS)
  const { documents: ranges, total: lag } = reading.lag
  const elapsedMs = earlier === undefined ? 0 : reading.atMs - earlier.atMs
  const { documents, updates, expired, deleted } = counts
  const applied = { all: documents + updates, present: documents - expired - deleted }
  const ratePerSecond =
    earlier === undefined || elapsedMs <= 0
      ? 0
      : ((applied.all - earlier.applied) * 1000) / elapsedMs
  const caughtUp = lag === 0
  const remaining = caughtUp ? 0 : Math.max(0, reading.sourceDocuments - applied.present)
  return {
    ...counts,
    job: reading.job,
    state: lag === undefined ? 'starting' : caughtUp ? 'caughtUp' : 'copying',
    sourceDocuments: reading.sourceDocuments,
    remaining,
    lag: lag ?? 0,
    ratePerSecond,
    remainingSeconds:
      remaining === 0 ? 0 : ratePerSecond > 0 ? remaining / ratePerSecond : undefined,
    waiting: counts.collisions - counts.collisionsResolved,
    ranges: (ranges ?? []).map((range) => ({
      ...range,
      ...rangeCounts(range, reading.progress),
    })),
  }
}

function rangeCounts(
  { leaseId }: RangeLag,
  progress: readonly RangeProgress<MigrationCounts>[],
): { readonly documents: number; readonly updates: number } {
  const { documents, updates } = progress.find(({ id }) => id === leaseId) ?? NO_COUNTS
  return { documents, updates }
}
