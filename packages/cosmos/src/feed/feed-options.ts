import { InvalidOptionError } from '@tidemark/contracts'
import { checkOptions, option, optionRule, type OptionRules } from '@tidemark/contracts/internal'

/** How to read the feed of a container. */
export interface CosmosFeedOptions {
  /** Maximum number of changes of a page, if the reader gives none. @range 1 or more @default the service's choice */
  readonly maxItemCount?: number | undefined
  /** No page shows a state older than this token's. @default what the client has seen by itself, at session consistency */
  readonly sessionToken?: string | undefined
  /** Regions that pages are not read from, as the client takes them. @default none */
  readonly excludedLocations?: readonly string[] | undefined
  /** `Low` = throttled before other requests. @default the service's: High */
  readonly priorityLevel?: 'High' | 'Low' | undefined
  /** Throughput bucket of the requests. @unit bucket @range as the service takes it @default none */
  readonly throughputBucket?: number | undefined
  /**
   * Name of the account, in the feed's identity: needed where dead letters of several accounts, whose databases and containers
   * have the same names, go to one place. @default none: database and container
   */
  readonly account?: string | undefined
}

export interface ResolvedFeedOptions {
  readonly maxItemCount: number | undefined
  readonly account: string | undefined
  /** What the client's iterators take as it is. */
  readonly client: object
}

const RULES: OptionRules<CosmosFeedOptions> = {
  maxItemCount: option.number,
  sessionToken: option.text,
  excludedLocations: optionRule('a list of regions', Array.isArray),
  priorityLevel: option.text,
  throughputBucket: option.number,
  account: option.text,
}

/** @throws ERR_INVALID_OPTION */
export function resolveFeedOptions(options: CosmosFeedOptions): ResolvedFeedOptions {
  checkOptions(options, RULES)
  const { maxItemCount, account, ...client } = options
  if (maxItemCount !== undefined && !(Number.isSafeInteger(maxItemCount) && maxItemCount >= 1)) {
    throw new InvalidOptionError(`maxItemCount must be above 0, got ${String(maxItemCount)}`)
  }
  return { maxItemCount, account, client }
}
