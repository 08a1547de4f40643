import {
  InvalidOptionError,
  partitionKeyDefinition,
  type FeedRange,
  type PartitionKeyDefinition,
} from '@tidemark/contracts'
import {
  describeValue,
  evenRanges,
  checkOptions,
  option,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { CollectionDefinition, UniqueKey } from '../engine/catalog.ts'
import { resolveSettings, settingsRules, type CollectionSettings } from './collection-settings.ts'
import { checkedResourceId } from './resource-names.ts'
import { checkedUniqueKeys } from './unique-keys.ts'

/** How the documents of a new collection are distributed. */
export type PartitionKeyOption = string | readonly string[] | PartitionKeyDefinition

export interface CollectionOptions extends CollectionSettings {
  /** 1 to 255 characters, none of `/ \ ? #`, no space at the end. */
  readonly id: string
  /** `'/customerId'`, 1 to 3 paths such as `['/tenant', '/user']` (hierarchical), or a whole definition. */
  readonly partitionKey: PartitionKeyOption
  /**
   * Number of pkranges at the start, 1 to 10,000. More pkranges allow more readers in parallel.
   * @unit pkranges @range 1 to 10_000 @default 1
   */
  readonly partitionCount?: number | undefined
  /**
   * Up to 10 lists of up to 16 paths. No two documents of one partition key value (all of its paths) can have the same
   * values at the paths of a list. A missing value counts as null; values of different types differ. Cannot be changed
   * later: to change it, create a new collection. @default none (as in Cosmos DB)
   */
  readonly uniqueKeys?: readonly UniqueKey[] | undefined
}

export interface ResolvedCollectionOptions {
  readonly id: string
  readonly definition: CollectionDefinition
  readonly ranges: readonly FeedRange[]
}

const RULES: OptionRules<CollectionOptions> = {
  ...settingsRules,
  id: option.anything,
  partitionKey: option.anything,
  partitionCount: option.anything,
  uniqueKeys: option.anything,
}

/**
 * The most pkranges that a new collection can have. Each needs a lease and a reader, so a higher number is probably a
 * mistake.
 */
export const MAX_PARTITION_COUNT = 10_000

/** @throws ERR_INVALID_OPTION, ERR_INVALID_PARTITION_KEY naming what is wrong */
export function resolveCollectionOptions(options: CollectionOptions): ResolvedCollectionOptions {
  checkOptions(options, RULES)
  const { partitionCount = 1 } = options
  const id = checkedResourceId('collection', options.id)
  const settings = resolveSettings(options)
  if (
    !Number.isInteger(partitionCount) ||
    partitionCount < 1 ||
    partitionCount > MAX_PARTITION_COUNT
  ) {
    throw new InvalidOptionError(
      `partitionCount must be a whole number from 1 to ${MAX_PARTITION_COUNT}, got ${describeValue(partitionCount)}`,
    )
  }
  const partitionKey = resolvePartitionKey(options.partitionKey)
  const uniqueKeys = checkedUniqueKeys(options.uniqueKeys ?? [])
  return {
    id,
    definition: { partitionKey, ...settings, ...(uniqueKeys.length > 0 && { uniqueKeys }) },
    ranges: evenRanges(partitionCount, partitionKey),
  }
}

function resolvePartitionKey(option: PartitionKeyOption): PartitionKeyDefinition {
  if (typeof option === 'string' || isPathList(option)) return partitionKeyDefinition(option)
  if (typeof option !== 'object' || option === null) {
    throw new InvalidOptionError(
      `partitionKey must be a path, a list of paths or a definition, got ${describeValue(option)}`,
    )
  }
  return partitionKeyDefinition(option.paths, option.version)
}

function isPathList(option: PartitionKeyOption): option is readonly string[] {
  return Array.isArray(option)
}
