import {
  InvalidOptionError,
  evenRanges,
  partitionKeyDefinition,
  type FeedRange,
  type PartitionKeyDefinition,
} from '@tidemark/contracts'
import type { CollectionDefinition } from '../engine/catalog.ts'
import { checkedResourceId } from './resource-names.ts'

/** How the documents of a new collection are spread. */
export type PartitionKeyOption = string | readonly string[] | PartitionKeyDefinition

export interface CollectionOptions {
  /** 1 to 255 characters, none of `/ \ ? #`, no space at the end. */
  readonly id: string
  /** `'/customerId'`, 1 to 3 paths such as `['/tenant', '/user']` (hierarchical), or a whole definition. */
  readonly partitionKey: PartitionKeyOption
  /**
   * Seconds after which documents expire, counted from their last change; -1 = they expire only if
   * they have a `ttl` of their own; null = time to live is off. @default null (as in Cosmos DB)
   */
  readonly defaultTtl?: number | null | undefined
  /** pkranges to begin with, 1 to 10,000; more = more readers in parallel. @default 1 */
  readonly partitionCount?: number | undefined
  /** @default 'consistent' (as in Cosmos DB) */
  readonly indexingMode?: 'consistent' | 'lazy' | 'none' | undefined
}

export interface ResolvedCollectionOptions {
  readonly id: string
  readonly definition: CollectionDefinition
  readonly ranges: readonly FeedRange[]
}

/** The largest time to live in seconds, of collections and documents (TTL-9). */
export const MAX_TTL_SECONDS = 2_147_483_647
/** Every range has a lease and a reader: beyond this a mistake is likelier than a plan. */
const MAX_PARTITION_COUNT = 10_000

/** @throws ERR_INVALID_OPTION, ERR_INVALID_PARTITION_KEY naming what is wrong */
export function resolveCollectionOptions(options: CollectionOptions): ResolvedCollectionOptions {
  const { defaultTtl = null, partitionCount = 1, indexingMode = 'consistent' } = options
  const id = checkedResourceId('collection', options.id)
  if (defaultTtl !== null && !isTtl(defaultTtl)) {
    throw new InvalidOptionError(
      `defaultTtl must be null, -1 or a whole number of seconds from 1 to ${MAX_TTL_SECONDS}, ` +
        `got ${String(defaultTtl)}`,
    )
  }
  if (!['consistent', 'lazy', 'none'].includes(indexingMode)) {
    throw new InvalidOptionError(
      `indexingMode must be "consistent", "lazy" or "none", got ${JSON.stringify(indexingMode)}`,
    )
  }
  if (defaultTtl !== null && indexingMode === 'none') {
    throw new InvalidOptionError('defaultTtl needs an indexingMode of "consistent" or "lazy"')
  }
  if (
    !Number.isInteger(partitionCount) ||
    partitionCount < 1 ||
    partitionCount > MAX_PARTITION_COUNT
  ) {
    throw new InvalidOptionError(
      `partitionCount must be a whole number from 1 to ${MAX_PARTITION_COUNT}, got ${partitionCount}`,
    )
  }
  const partitionKey = resolvePartitionKey(options.partitionKey)
  return {
    id,
    definition: { partitionKey, defaultTtl, indexingMode },
    ranges: evenRanges(partitionCount, partitionKey),
  }
}

/** Whether a value is a time to live: -1 (never) or a positive number of whole seconds. */
export function isTtl(value: unknown): value is number {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    (value === -1 || (value >= 1 && value <= MAX_TTL_SECONDS))
  )
}

function resolvePartitionKey(option: PartitionKeyOption): PartitionKeyDefinition {
  if (typeof option === 'string' || isPathList(option)) return partitionKeyDefinition(option)
  if (typeof option !== 'object' || option === null) {
    throw new InvalidOptionError(
      `partitionKey must be a path, a list of paths or a definition, got ${String(option)}`,
    )
  }
  return partitionKeyDefinition(option.paths, option.version)
}

function isPathList(option: PartitionKeyOption): option is readonly string[] {
  return Array.isArray(option)
}
