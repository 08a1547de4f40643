import {
  option,
  optionGroup,
  optionHaving,
  optionOf,
  optionRule,
  optionWhole,
  requiredOption,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { FailurePolicyOptions, Resolved } from '../feed-processing/pump-options.ts'
import type { ChangeFeedProcessorHostOptions, FeedOptions, HostOptions } from './host-options.ts'

/** Longest delay that the platform's timers keep. */
const MAX_INTERVAL_MS = 2 ** 31 - 1
const MAX_COUNT = 2 ** 31 - 1
const MAX_LEASES_PER_RANGE = 256

/** What values an option may have, and which one it has if none is given. */
interface Setting<Value> extends OptionRule {
  readonly byDefault: Value
}

/** All options of a group. Those named by `Open` have no default of their own. */
type Settings<Options, Open extends keyof Options> = {
  readonly [Name in Exclude<keyof Options, Open>]-?: Setting<Exclude<Options[Name], undefined>>
} & { readonly [Name in Open]-?: OptionRule }

type OpenFeedOption = 'pendingDeletes' | 'partitionKeyRangeId' | 'startTime' | 'startContinuation'
type OpenHostOption =
  | 'discardExistingLeases'
  | 'leasePrefix'
  | 'leaseStoreTimeoutMs'
  | 'maxConcurrentObservers'
  | 'onLeaseStoreLoss'

const interval = optionRule(
  `a number above 0 and at most ${MAX_INTERVAL_MS} ms`,
  (value) => typeof value === 'number' && value > 0 && value <= MAX_INTERVAL_MS,
)
const someText = optionRule(
  'a text that is not empty',
  (value) => typeof value === 'string' && value !== '',
)

const feedOptions: Settings<FeedOptions, OpenFeedOption> = {
  maxItemCount: by(orElse(optionWhole(1, MAX_COUNT), optionOf(-1)), 100),
  startFromBeginning: by(option.flag, false),
  startTime: optionHaving('a Date', 'getTime'),
  startContinuation: option.text,
  partitionKeyRangeId: someText,
  leasesPerRange: by(optionWhole(1, MAX_LEASES_PER_RANGE), 1),
  balanceBy: by(optionOf('count', 'load'), 'count' as const),
  pendingDeletes: option.flag,
  mode: by(optionOf('latestVersion', 'allVersions'), 'latestVersion'),
  onHorizonPassed: by(optionOf('fail', 'resync'), 'fail'),
}

const failurePolicy: Settings<FailurePolicyOptions, 'mode'> = {
  mode: requiredOption(optionOf('retryForever', 'deadLetter', 'haltRange')),
  maxAttempts: count(1, 5),
  maxConsecutiveDeadLetters: count(1, 100),
}

const checkpointFrequency = {
  ...optionRule(
    "'everyBatch', 'manual', { everyChanges } or { everyMs }",
    (value) =>
      value === 'everyBatch' ||
      value === 'manual' ||
      (typeof value === 'object' &&
        value !== null &&
        ('everyChanges' in value || 'everyMs' in value)),
  ),
  within: { everyChanges: optionWhole(1, MAX_COUNT), everyMs: interval },
}

const hostOptions: Settings<HostOptions, OpenHostOption> = {
  leaseRenewIntervalMs: by(interval, 2_000),
  leaseExpirationIntervalMs: by(interval, 8_000),
  leaseAcquireIntervalMs: by(interval, 2_000),
  feedPollDelayMs: by(interval, 1_000),
  checkpointFrequency: by(checkpointFrequency, 'everyBatch' as const),
  maxUnstoredBatches: count(1, 2),
  minPartitionCount: count(0, 0),
  maxPartitionCount: count(1, MAX_COUNT),
  weight: by(
    optionRule('a number above 0', (value) => Number.isFinite(value) && Number(value) > 0),
    1,
  ),
  standby: by(option.flag, false),
  discardExistingLeases: someText,
  leasePrefix: option.text,
  failurePolicy: by(orElse(optionGroup(failurePolicy), failurePolicy.mode), 'retryForever'),
  redrivePollMs: by(interval, 10_000),
  maxBatchMs: by(
    orElse(
      interval,
      optionRule('Infinity', (value) => value === Infinity),
    ),
    600_000,
  ),
  maxConcurrentKeys: count(1, 1),
  laneWindowChanges: count(1, 10_000),
  maxConcurrentObservers: optionWhole(1, MAX_COUNT),
  readAheadPages: count(1, 1),
  retryDelayMs: by(interval, 200),
  retryMaxDelayMs: by(interval, 30_000),
  handoffTimeoutMs: by(optionWhole(0, MAX_INTERVAL_MS), 30_000),
  shutdownTimeoutMs: by(optionWhole(0, MAX_INTERVAL_MS), 30_000),
  abortGraceMs: by(optionWhole(0, MAX_INTERVAL_MS), 5_000),
  startTimeoutMs: by(interval, 30_000),
  leaseStoreTimeoutMs: interval,
  onLeaseStoreLoss: optionOf('recover', 'stop'),
}

const deadLetters = optionHaving('an object with a function put', 'put')

export const hostOptionRules: OptionRules<ChangeFeedProcessorHostOptions> = {
  hostName: someText,
  group: option.text,
  feed: requiredOption(option.feed),
  leases: requiredOption(option.leases),
  deadLetters: orElse(option.function, deadLetters),
  feedOptions: optionGroup(feedOptions),
  hostOptions: optionGroup(hostOptions),
  logger: option.logger,
  telemetry: option.telemetry,
  clock: option.clock,
  random: option.random,
}

export function withFeedDefaults(given: FeedOptions): Resolved<FeedOptions, OpenFeedOption> {
  return withDefaults<FeedOptions, OpenFeedOption>(given, feedOptions)
}

export function withHostDefaults(given: HostOptions): Resolved<HostOptions, OpenHostOption> {
  return withDefaults<HostOptions, OpenHostOption>(given, hostOptions)
}

export function withPolicyDefaults(
  given: NonNullable<HostOptions['failurePolicy']>,
): Resolved<FailurePolicyOptions> {
  const options = typeof given === 'string' ? { mode: given } : given
  return withDefaults<FailurePolicyOptions, 'mode'>(options, failurePolicy)
}

function withDefaults<Options extends object, Open extends keyof Options>(
  given: Options,
  settings: Settings<Options, Open> & Readonly<Record<string, Partial<Setting<unknown>>>>,
): Resolved<Options, Open> {
  const resolved = Object.entries<Partial<Setting<unknown>>>(settings).map(
    ([name, { byDefault }]): [string, unknown] => [name, Reflect.get(given, name) ?? byDefault],
  )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- settings have each name, and a default of its type
  return Object.fromEntries(resolved) as Resolved<Options, Open>
}

function by<Value>(rule: OptionRule, byDefault: Value): Setting<Value> {
  return { ...rule, byDefault }
}

function count(min: number, byDefault: number): Setting<number> {
  return by(optionWhole(min, MAX_COUNT), byDefault)
}

function orElse(rule: OptionRule, other: OptionRule): OptionRule {
  const accepts = (value: unknown): boolean => rule.accepts(value) || other.accepts(value)
  return { ...rule, expected: `${rule.expected} or ${other.expected}`, accepts }
}
