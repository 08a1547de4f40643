import {
  InvalidOptionError,
  type Change,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type LeaseStore,
  type Logger,
  type Random,
} from '@tidemark/contracts'
import {
  option,
  optionHaving,
  requiredOption,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { ChangeFeedProcessorHostOptions, FeedOptions, HostOptions } from '@tidemark/processor'

/** What every job takes whose work is done by hosts. */
export interface JobOptions<Event> {
  readonly leases: LeaseStore
  /** As for a host. @default machine name, process id and a random part */
  readonly hostName?: string | undefined
  readonly hostOptions?: HostOptions | undefined
  /** Gets each event of the job, in the process where it happens. @default nothing */
  readonly onEvent?: ((event: Event) => void) | undefined
  /**
   * As of a host. @default the standard error output, for everything without `onEvent`, else for what is no event
   */
  readonly logger?: Logger | false | undefined
  /** Stops the job, as `stop()` does. @default none */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

export const jobRules: OptionRules<JobOptions<never>> = {
  leases: requiredOption(option.leases),
  hostName: option.text,
  // The host looks at them.
  hostOptions: option.anything,
  onEvent: option.function,
  logger: option.logger,
  signal: option.signal,
  clock: option.clock,
  random: option.random,
}

/** What a job also takes that brings the changes of any feed to somewhere else. */
export interface FeedJobOptions<T extends DocumentBody, Event> extends JobOptions<Event> {
  /** A collection, or any other change feed. */
  readonly feed: ChangeFeedSource<T>
  /** Changes for which it is false are passed over. @default none is passed over */
  readonly filter?: ((change: Change<T>) => boolean) | undefined
  /** Where and what is read. `startFromBeginning` is true unless you say otherwise. */
  readonly feedOptions?: FeedOptions | undefined
  /** As for a host. @default none */
  readonly deadLetters?: ChangeFeedProcessorHostOptions<T>['deadLetters']
  /** Stops when everything that was in the feed at the start is done. @default false: it continues */
  readonly stopWhenCaughtUp?: boolean | undefined
}

export const feedJobRules: OptionRules<FeedJobOptions<never, never>> = {
  ...jobRules,
  feed: requiredOption(option.feed),
  filter: option.function,
  // The host looks at these two.
  feedOptions: option.anything,
  deadLetters: option.anything,
  stopWhenCaughtUp: option.flag,
}

/** A database of a store. */
export const databaseRule: OptionRule = requiredOption(
  optionHaving('a database of a store', 'collection'),
)
/** A collection that a job reads. */
export const collectionRule: OptionRule = requiredOption(
  optionHaving('a collection of a store', 'readRecord', 'readFeedRanges'),
)

/** Items of a page, which a job commits or writes as one. */
export const DEFAULT_PAGE_ITEMS = 1_000

/** @throws ERR_INVALID_OPTION */
export function resolvePageItems(maxItemCount: number = DEFAULT_PAGE_ITEMS): number {
  return atLeastOne('maxItemCount', maxItemCount)
}

/** @throws ERR_INVALID_OPTION */
export function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new InvalidOptionError(`${name} must be a whole number above 0, got ${value}`)
}

const DEFAULT_PROGRESS_INTERVAL_MS = 1_000

/** @throws ERR_INVALID_OPTION */
export function resolveProgressInterval(
  progressIntervalMs: number = DEFAULT_PROGRESS_INTERVAL_MS,
): number {
  if (progressIntervalMs > 0) return progressIntervalMs
  throw new InvalidOptionError(`progressIntervalMs must be above 0, got ${progressIntervalMs}`)
}
