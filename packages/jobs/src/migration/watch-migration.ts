import {
  systemClock,
  type Clock,
  type DocumentBody,
  type LeaseStore,
  type RequestOptions,
} from '@tidemark/contracts'
import { checkOptions } from '@tidemark/contracts/internal'
import type { Collection, Database } from '@tidemark/store'
import { databaseRule } from '../workers/job-options.ts'
import { WatchedGroups } from '../workers/job-groups.ts'
import { migrationGroups, reconciles } from './migration-groups.ts'
import { migrationName, migrationRules, type ExpiryOption } from './migration-options.ts'
import type { MigrationProgress } from './migration-progress.ts'
import { MigrationWatch } from './migration-watch.ts'
import { openStateCollection } from './open-migration-storage.ts'
import type { MigrationCounts } from './state-documents.ts'
import type { RangeProgress } from '../effectively-once/ledger.ts'
import { reconcileNote } from '../effectively-once/reconcile.ts'

export interface WatchMigrationOptions<S extends DocumentBody> {
  /** Name of the migration. */
  readonly job: string
  /** The collection that is copied. */
  readonly source: Collection<S>
  /** That of the target collection. */
  readonly targetDatabase: Database
  readonly leases: LeaseStore
  /** As the workers have it. @default 'carry' */
  readonly expiry?: ExpiryOption | undefined
  /** As the workers have it. @default 'ignore' */
  readonly deletes?: 'apply' | 'ignore' | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
}

/** A look at a migration from a process that does not work on it. */
export interface WatchedMigration extends AsyncDisposable {
  progress(options?: RequestOptions): Promise<MigrationProgress>
  /** As of `Migration`. */
  caughtUp(options?: RequestOptions): Promise<void>
  /** As of `Migration`. */
  cutOver(options?: RequestOptions): Promise<MigrationProgress>
}

/**
 * Watches a migration that other processes do, and waits for its cut-over. Works on nothing.
 *
 * Rejects with ERR_INVALID_OPTION naming the option, and with what the stores say.
 */
export async function watchMigration<S extends DocumentBody>(
  options: WatchMigrationOptions<S>,
): Promise<WatchedMigration> {
  checkOptions(options, { ...migrationRules, targetDatabase: databaseRule })
  const { job, source, targetDatabase, leases, clock = systemClock } = options
  const { expiry = 'carry', deletes = 'ignore' } = options
  const name = migrationName(job)
  const progress = await openStateCollection<RangeProgress<MigrationCounts>>(targetDatabase, name)
  const { definition } = await source.readRecord()
  const pendingDeletes = expiry === 'carry' && definition.defaultTtl !== null
  const followsLog = deletes === 'apply'
  const reading = migrationGroups(name, { pendingDeletes, followsLog })
  const canMiss = reconciles(options.deletes, { pendingDeletes, followsLog })
  const note = canMiss ? reconcileNote(targetDatabase.collection(name)) : undefined
  const groups = new WatchedGroups({ source, leases, clock, note }, reading)
  const watch = new MigrationWatch({ job, source, groups, ledger: { progress }, clock })
  return {
    progress: (wait) => watch.progress(wait),
    caughtUp: (wait) => groups.caughtUp(wait),
    cutOver: (wait) => watch.cutOver(wait),
    [Symbol.asyncDispose]: () => groups[Symbol.asyncDispose](),
  }
}
