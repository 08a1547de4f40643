import {
  InvalidOptionError,
  checkedGroupName,
  systemClock,
  systemRandom,
  type Clock,
  type DocumentBody,
  type LeaseStore,
  type Random,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { HostOptions } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { tellingRules, type TellingOptions } from '../workers/relay-host-events.ts'
import { collectionRule } from '../migration/migration-options.ts'
import { sinkRule, type Sink } from '../sync/sink.ts'
import type { ArchiveEvent } from './archive-events.ts'
import type { ArchivedDocument } from './archived-document.ts'

export interface ArchiveOptions<T extends DocumentBody> extends TellingOptions<ArchiveEvent> {
  /** The collection whose expired documents are archived. Its TTL should be on. */
  readonly source: Collection<T>
  readonly sink: Sink<ArchivedDocument<NoInfer<T>>>
  readonly leases: LeaseStore
  /**
   * Processor group: archives with the same name share the work and continue where earlier ones stopped, and purges
   * wait for it. @default `archive-<database>.<collection>`
   */
  readonly group?: string | undefined
  /** As for a host. @default machine name, process id and a random part */
  readonly hostName?: string | undefined
  /** Maximum number of changes of one read, and so of a batch of the sink. @range 1 or more @default 1_000 */
  readonly maxItemCount?: number | undefined
  /**
   * If documents were purged before they were archived, because purges did not wait for the group: `fail` halts their
   * range, `resync` continues with the rest. Both emit `missed`. @default 'fail'
   */
  readonly onHorizonPassed?: 'fail' | 'resync' | undefined
  readonly hostOptions?: HostOptions | undefined
  /** Stops when everything that was in the feed at the start is archived. @default false: it continues */
  readonly stopWhenCaughtUp?: boolean | undefined
  /** Stops the archive, as `stop()` does. @default none */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

const RULES: OptionRules<ArchiveOptions<never>> = {
  ...tellingRules,
  source: collectionRule,
  sink: sinkRule,
  leases: requiredOption(option.leases),
  group: option.text,
  hostName: option.text,
  maxItemCount: option.number,
  onHorizonPassed: option.text,
  hostOptions: option.anything,
  stopWhenCaughtUp: option.flag,
  signal: option.signal,
  clock: option.clock,
  random: option.random,
}

const DEFAULT_PAGE = 1_000

export interface ResolvedArchiveOptions {
  readonly group: string
  readonly maxItemCount: number
  readonly clock: Clock
  readonly random: Random
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveArchiveOptions<T extends DocumentBody>(
  options: ArchiveOptions<T>,
): ResolvedArchiveOptions {
  checkOptions(options, RULES)
  const { source, maxItemCount = DEFAULT_PAGE } = options
  const { clock = systemClock, random = systemRandom } = options
  const group = checkedGroupName(options.group ?? archiveGroup(source))
  if (!Number.isSafeInteger(maxItemCount) || maxItemCount < 1) {
    throw new InvalidOptionError(`maxItemCount must be a whole number above 0, got ${maxItemCount}`)
  }
  return { group, maxItemCount, clock, random }
}

/** The group that an archive of a collection has unless it is named. */
export function archiveGroup({
  databaseId,
  id,
}: {
  readonly databaseId: string
  readonly id: string
}): string {
  return `archive-${databaseId}.${id}`
}
