import {
  InvalidOptionError,
  checkedGroupName,
  systemClock,
  type Clock,
  type DocumentBody,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionGroup,
  optionOf,
  optionRule,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Collection, Database, PartitionKeyOption } from '@tidemark/store'
import {
  collectionRule,
  databaseRule,
  jobRules,
  resolvePageItems,
  resolveProgressInterval,
  type JobOptions,
} from '../workers/job-options.ts'
import type { MapDocument } from './map-document.ts'
import type { MigrationEvent } from './migration-events.ts'
import type { MigrationProgress } from './migration-progress.ts'

/** The target of a migration. */
export interface MigrationTarget {
  /** Of any store. The migration also keeps its state in it. */
  readonly database: Database
  /** The collection's name. */
  readonly id: string
  /**
   * Creates the collection when it is missing: one path, or up to three for a hierarchical key. If the collection
   * exists, it must have this partition key. @default it must exist
   */
  readonly partitionKey?: PartitionKeyOption | undefined
  /** Number of pkranges, if it is created. @range 1 to 10_000 @default 1 (the store's) */
  readonly partitionCount?: number | undefined
  /**
   * Its time to live, as `defaultTtl` of a collection, if it is created.
   * @unit s @range 1 to 2_147_483_647; or -1, or null @default -1 when the source has TTL and its expiry is carried,
   * else off
   */
  readonly defaultTtl?: number | null | undefined
}

/**
 * How a migration treats time to live (JB-2).
 *
 * - `carry`: a copy expires at the same instant as its source, or never; expired documents are not copied. This sets
 *   the `ttl` of the copy, whatever `mapDocument` returns.
 * - `ignore`: documents are copied as `mapDocument` returns them. A `ttl` starts with the copy, and copies stay in
 *   the target when their source expires.
 *
 * Without TTL in the source, both do the same.
 */
export type ExpiryOption = 'carry' | 'ignore'

export interface MigrationOptions<
  S extends DocumentBody,
  T extends DocumentBody,
> extends JobOptions<MigrationEvent> {
  /**
   * Name of the migration: workers with the same name share the work and continue where earlier ones stopped.
   * Part of the names of its lease group and of its state collection (`migration-<job>`).
   */
  readonly job: string
  /** The collection that is copied. */
  readonly source: Collection<S>
  readonly target: MigrationTarget
  /** Makes the copy of a document; undefined: it is not copied. */
  readonly mapDocument: MapDocument<S, T>
  /** @default 'carry' */
  readonly expiry?: ExpiryOption | undefined
  /**
   * `apply`: documents that are deleted in the source during the job are removed from the target. The source must
   * keep its log of all versions (ERR_ALL_VERSIONS_OFF). `ignore`: they stay in the target, and verification lists them
   * as extra. By default they stay, too, unless the source has a time to live and purged something unread: then the
   * source is asked for everything that was copied. Give the same value to all workers.
   *
   * @default 'ignore', and the event `deletesUnseen` at the start, or a line of the logger without `onEvent`
   */
  readonly deletes?: 'apply' | 'ignore' | undefined
  /** Maximum number of changes that are read and applied together. @range 1 or more @default 1_000 */
  readonly maxItemCount?: number | undefined
  /** Called every `progressIntervalMs` while the job runs. @default nothing is read for it */
  readonly onProgress?: ((progress: MigrationProgress) => void) | undefined
  /** Time between two calls of `onProgress`. @range any number above 0 @default 1_000 */
  readonly progressIntervalMs?: number | undefined
}

/** What workers and watchers of a migration have in common. */
export const migrationRules: OptionRules<
  Pick<MigrationOptions<never, never>, 'job' | 'source' | 'leases' | 'expiry' | 'deletes' | 'clock'>
> = {
  job: requiredOption(option.text),
  source: collectionRule,
  leases: requiredOption(option.leases),
  expiry: optionOf('carry', 'ignore'),
  deletes: optionOf('apply', 'ignore'),
  clock: option.clock,
}

const RULES: OptionRules<MigrationOptions<never, never>> = {
  ...migrationRules,
  ...jobRules,
  target: requiredOption(
    optionGroup<MigrationTarget>({
      database: databaseRule,
      id: requiredOption(option.text),
      partitionKey: option.anything,
      partitionCount: option.number,
      defaultTtl: optionRule(
        'a number or null',
        (value) => value === null || typeof value === 'number',
      ),
    }),
  ),
  mapDocument: requiredOption(option.function),
  maxItemCount: option.number,
  onProgress: option.function,
  progressIntervalMs: option.number,
}

const MAX_JOB_NAME = 100

/** Options that have a default, checked. */
export interface ResolvedMigrationOptions {
  readonly clock: Clock
  readonly maxItemCount: number
  readonly progressIntervalMs: number
  /** Name of the lease group and of the state collection. */
  readonly name: string
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveMigrationOptions<S extends DocumentBody, T extends DocumentBody>(
  options: MigrationOptions<S, T>,
): ResolvedMigrationOptions {
  checkOptions(options, RULES)
  const { job, clock = systemClock } = options
  return {
    clock,
    maxItemCount: resolvePageItems(options.maxItemCount),
    progressIntervalMs: resolveProgressInterval(options.progressIntervalMs),
    name: migrationName(job),
  }
}

/** Name of the lease group that reads the log of all versions. */
export function deletesGroup(name: string): string {
  return checkedGroupName(`${name}/deletes`)
}

/**
 * Name of a migration's lease group and of its state collection.
 *
 * @throws ERR_INVALID_OPTION when `job` cannot be part of a collection's id
 */
export function migrationName(job: string): string {
  if (!/^[^/\\?#]+$/.test(job) || job.length > MAX_JOB_NAME || job.trim() !== job) {
    throw new InvalidOptionError(
      `job must have 1 to ${MAX_JOB_NAME} characters, none of / \\ ? # and no space at its ends, ` +
        `got ${JSON.stringify(job)}`,
    )
  }
  return checkedGroupName(`migration-${job}`)
}
