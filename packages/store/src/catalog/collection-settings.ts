import { InvalidOptionError, checkedGroupName } from '@tidemark/contracts'
import {
  describeValue,
  option,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type {
  AllVersionsPolicy,
  CollectionDefinition,
  PendingDeletePolicy,
} from '../engine/catalog.ts'
import { assertIndexed } from '../engine/definition-changes.ts'
import { MAX_TTL_SECONDS } from '../engine/expiry.ts'

/** When to purge pending deletes, and with them the last versions of expired documents (TTL-14). */
export interface PendingDeleteOptions {
  /**
   * Minimum time in seconds that a pending delete is kept. 0 = only until the groups of `waitFor` have passed it.
   * @range 0 to 2_147_483_647 @default 86_400
   */
  readonly retentionSeconds?: number | undefined
  /** Processor groups that must pass a pending delete before it is purged. @default none */
  readonly waitFor?: readonly string[] | undefined
}

/** The log of all versions and deletes (CF-11). */
export interface AllVersionsOptions {
  /** Minimum time in seconds that an entry is kept. @range 1 to 2_147_483_647 */
  readonly retentionSeconds: number
  /** Entries also carry the previous version. @default false */
  readonly previousImages?: boolean | undefined
}

/** The settings of a collection that you can choose, and change later. */
export interface CollectionSettings {
  /**
   * Seconds after which a document expires, counted from its last change. -1 = a document expires only if it has its
   * own `ttl`; null = time to live is off.
   * @unit s @range 1 to 2_147_483_647; or -1, or null @default null (as in Cosmos DB)
   */
  readonly defaultTtl?: number | null | undefined
  /**
   * As in Cosmos DB. A time to live needs `consistent` or `lazy`; nothing else depends on it.
   * @default 'consistent' (as in Cosmos DB)
   */
  readonly indexingMode?: 'consistent' | 'lazy' | 'none' | undefined
  readonly pendingDeletes?: PendingDeleteOptions | undefined
  /** Keeps a log of all versions and deletes from now on. null = no log. @default null */
  readonly allVersions?: AllVersionsOptions | null | undefined
  /**
   * The store's maintenance splits a pkrange whose live documents have more bytes than this. At least 1 MiB; null =
   * never.
   * @range 1_048_576 or more; or null @default null
   */
  readonly splitAboveBytes?: number | null | undefined
  /**
   * Your own text, stored with the collection. The store does not interpret it: the gateway, for example, keeps
   * settings there that the store does not have. At most 256 KiB. @default none
   */
  readonly annotation?: string | undefined
}

/** The settings that exist. Their values are checked separately. */
export const settingsRules: OptionRules<CollectionSettings> = {
  defaultTtl: option.anything,
  indexingMode: option.anything,
  pendingDeletes: within<PendingDeleteOptions>({
    retentionSeconds: option.anything,
    waitFor: option.anything,
  }),
  allVersions: within<AllVersionsOptions>({
    retentionSeconds: option.anything,
    previousImages: option.anything,
  }),
  splitAboveBytes: option.anything,
  annotation: option.anything,
}

/** One day. Only you can say how long a failure, such as over a weekend, may go unseen. */
const DEFAULT_RETENTION_SECONDS = 86_400
/** Each purge reads the position of every waiting group. */
const MAX_WAITING_GROUPS = 100
/** Below this size, a range costs more than a split can gain. */
const MIN_SPLIT_BYTES = 1024 * 1024
/** Every reader of the catalog keeps it in memory. */
const MAX_ANNOTATION_CHARS = 256 * 1024

/** @throws ERR_INVALID_OPTION naming the option and its value */
export function resolveSettings(
  settings: CollectionSettings,
): Omit<CollectionDefinition, 'partitionKey' | 'uniqueKeys'> {
  const { defaultTtl = null, indexingMode = 'consistent' } = settings
  const { allVersions = null, splitAboveBytes = null, annotation } = settings
  const { retentionSeconds = DEFAULT_RETENTION_SECONDS, waitFor = [] } =
    checkedPendingDeletes(settings.pendingDeletes) ?? {}
  const resolved = {
    defaultTtl: checkedDefaultTtl(defaultTtl),
    indexingMode: checkedIndexingMode(indexingMode),
    pendingDeletes: { retentionSeconds, waitFor },
    allVersions: checkedAllVersions(allVersions),
    splitAboveBytes: checkedSplitAboveBytes(splitAboveBytes),
    ...(annotation !== undefined && { annotation: checkedAnnotation(annotation) }),
  }
  assertIndexed(resolved)
  return resolved
}

/** @throws ERR_INVALID_OPTION */
export function checkedDefaultTtl(defaultTtl: number | null): number | null {
  if (defaultTtl === null || isTtl(defaultTtl)) return defaultTtl
  throw new InvalidOptionError(
    `defaultTtl must be null, -1 or a whole number of seconds from 1 to ${MAX_TTL_SECONDS}, ` +
      `got ${describeValue(defaultTtl)}`,
  )
}

/** @throws ERR_INVALID_OPTION */
export function checkedIndexingMode(
  indexingMode: CollectionDefinition['indexingMode'],
): CollectionDefinition['indexingMode'] {
  if (['consistent', 'lazy', 'none'].includes(indexingMode)) return indexingMode
  throw new InvalidOptionError(
    `indexingMode must be "consistent", "lazy" or "none", got ${JSON.stringify(indexingMode)}`,
  )
}

/**
 * Checks the properties that are given. Group names are sorted, without duplicates.
 *
 * @throws ERR_INVALID_OPTION
 */
export function checkedPendingDeletes(
  options: PendingDeleteOptions | undefined,
): Partial<PendingDeletePolicy> | undefined {
  if (options === undefined) return undefined
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError(`pendingDeletes must be an object, got ${describeValue(options)}`)
  }
  const { retentionSeconds, waitFor } = options
  return {
    ...(retentionSeconds !== undefined && {
      retentionSeconds: checkedSeconds('pendingDeletes.retentionSeconds', retentionSeconds, 0),
    }),
    ...(waitFor !== undefined && { waitFor: checkedWaitingGroups(waitFor) }),
  }
}

/** @throws ERR_INVALID_OPTION */
export function checkedWaitingGroups(groups: readonly string[]): readonly string[] {
  if (!Array.isArray(groups)) {
    throw new InvalidOptionError(
      `pendingDeletes.waitFor must be a list of group names, got ${describeValue(groups)}`,
    )
  }
  const names = [...new Set(groups.map(checkedWaitingGroup))].toSorted()
  if (names.length > MAX_WAITING_GROUPS) {
    throw new InvalidOptionError(
      `pendingDeletes.waitFor must have at most ${MAX_WAITING_GROUPS} groups, got ${names.length}`,
    )
  }
  return names
}

/** @throws ERR_INVALID_OPTION */
export function checkedWaitingGroup(group: unknown): string {
  if (typeof group === 'string') return checkedGroupName(group)
  throw new InvalidOptionError(
    `pendingDeletes.waitFor must hold group names, got ${JSON.stringify(group)}`,
  )
}

/** @throws ERR_INVALID_OPTION */
export function checkedAllVersions(options: AllVersionsOptions | null): AllVersionsPolicy | null {
  if (options === null) return null
  if (typeof options !== 'object') {
    throw new InvalidOptionError(
      `allVersions must be an object or null, got ${describeValue(options)}`,
    )
  }
  const { retentionSeconds, previousImages = false } = options
  if (typeof previousImages !== 'boolean') {
    throw new InvalidOptionError(
      `allVersions.previousImages must be true or false, got ${JSON.stringify(previousImages)}`,
    )
  }
  return {
    retentionSeconds: checkedSeconds('allVersions.retentionSeconds', retentionSeconds, 1),
    previousImages,
  }
}

/** @throws ERR_INVALID_OPTION */
export function checkedSplitAboveBytes(bytes: number | null): number | null {
  if (bytes === null || (Number.isSafeInteger(bytes) && bytes >= MIN_SPLIT_BYTES)) return bytes
  throw new InvalidOptionError(
    `splitAboveBytes must be null or a whole number of at least ${MIN_SPLIT_BYTES}, ` +
      `got ${describeValue(bytes)}`,
  )
}

/** @throws ERR_INVALID_OPTION */
export function checkedAnnotation(annotation: string): string {
  if (typeof annotation === 'string' && (annotation.includes('\0') || !annotation.isWellFormed())) {
    throw new InvalidOptionError(
      'annotation must not have U+0000 or half of a surrogate pair in it',
    )
  }
  if (typeof annotation === 'string' && annotation.length <= MAX_ANNOTATION_CHARS) return annotation
  throw new InvalidOptionError(
    `annotation must be text of at most ${MAX_ANNOTATION_CHARS} characters, ` +
      `got ${typeof annotation === 'string' ? annotation.length : typeof annotation}`,
  )
}

/** Whether a value is a time to live: -1 (never) or a positive number of whole seconds. */
export function isTtl(value: unknown): value is number {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    (value === -1 || (value >= 1 && value <= MAX_TTL_SECONDS))
  )
}

function checkedSeconds(name: string, value: number, least: 0 | 1): number {
  if (Number.isInteger(value) && value >= least && value <= MAX_TTL_SECONDS) return value
  throw new InvalidOptionError(
    `${name} must be a whole number of seconds from ${least} to ${MAX_TTL_SECONDS}, ` +
      `got ${describeValue(value)}`,
  )
}

function within<Options>(rules: OptionRules<Options>): OptionRule {
  return { ...option.anything, within: rules }
}
