import {
  InvalidOptionError,
  checkedGroupName,
  systemClock,
  systemRandom,
  checkOptions,
  option,
  requiredOption,
  optionHaving,
  type Clock,
  type DocumentBody,
  type LeaseStore,
  type Random,
  type OptionRules,
  type OptionRule,
} from '@tidemark/contracts'
import type { HostOptions } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { tellingRules, type TellingOptions } from '../workers/relay-host-events.ts'
import { collectionRule } from '../migration/migration-options.ts'
import type { ArchiveEvent } from './archive-events.ts'
import type { Sink } from './sink.ts'

export interface ArchiveOptions<T extends DocumentBody> extends TellingOptions<ArchiveEvent> {
  /** The collection whose expired documents are archived. Its TTL should be on. */
  readonly source: Collection<T>
  readonly sink: Sink<NoInfer<T>>
  readonly leases: LeaseStore
  /**
   * Processor group: archives of one name share the work and go on where earlier ones stopped, and
   * purges wait for it. @default `archive-<database>.<collection>`
   */
  readonly group?: string | undefined
  /** As of a host. @default a new one: machine, process id and chance */
  readonly hostName?: string | undefined
  /** Changes read at a time; a batch of the sink has at most as many. @default 1_000 */
  readonly maxItemCount?: number | undefined
  /**
   * When documents were purged that the group had not archived, because it was not waited for: `fail`
   * halts their range, `resync` goes on with what is left. Both tell it (event `missed`). @default 'fail'
   */
  readonly onHorizonPassed?: 'fail' | 'resync' | undefined
  readonly hostOptions?: HostOptions | undefined
  /** Stops once everything that is in the feed at the start is archived. @default false: it goes on */
  readonly stopWhenCaughtUp?: boolean | undefined
  /** Stops the archive, as `stop()` does. */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

/** Where documents are archived. */
export const sinkRule: OptionRule = requiredOption(
  optionHaving('a sink: an object with a function write(batch, context)', 'write'),
)

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
