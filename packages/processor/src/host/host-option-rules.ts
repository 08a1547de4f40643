import {
  optionGroup,
  optionHaving,
  option,
  requiredOption,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts'
import type {
  ChangeFeedProcessorHostOptions,
  FailurePolicyOptions,
  FeedOptions,
  HostOptions,
} from './host-options.ts'
import type { HostLogger } from './host-log.ts'

const feedOptions: OptionRules<FeedOptions> = {
  maxItemCount: option.number,
  startFromBeginning: option.flag,
  startTime: optionHaving('a Date', 'getTime'),
  startContinuation: option.text,
  partitionKeyRangeId: option.text,
  pendingDeletes: option.flag,
  mode: option.text,
  onHorizonPassed: option.text,
}

const failurePolicy: OptionRules<FailurePolicyOptions> = {
  mode: requiredOption(option.text),
  maxAttempts: option.number,
  maxConsecutiveDeadLetters: option.number,
}

const hostOptions: OptionRules<HostOptions> = {
  leaseRenewIntervalMs: option.number,
  leaseExpirationIntervalMs: option.number,
  leaseAcquireIntervalMs: option.number,
  feedPollDelayMs: option.number,
  checkpointFrequency: option.anything,
  minPartitionCount: option.number,
  maxPartitionCount: option.number,
  weight: option.number,
  standby: option.flag,
  discardExistingLeases: option.text,
  leasePrefix: option.text,
  failurePolicy: textOr(optionGroup(failurePolicy)),
  redrivePollMs: option.number,
  maxBatchMs: option.number,
  maxConcurrentKeys: option.number,
  laneWindowChanges: option.number,
  maxConcurrentObservers: option.number,
  readAheadPages: option.number,
  retryDelayMs: option.number,
  retryMaxDelayMs: option.number,
  handoffTimeoutMs: option.number,
  shutdownTimeoutMs: option.number,
  abortGraceMs: option.number,
  startTimeoutMs: option.number,
  leaseStoreTimeoutMs: option.number,
  onLeaseStoreLoss: option.text,
}

const methods = ['warn', 'error'] satisfies (keyof HostLogger)[]
const logger = optionHaving('an object with functions warn and error, or false', ...methods)
const deadLetters = optionHaving('a function, or an object with a function put', 'put')

export const hostOptionRules: OptionRules<ChangeFeedProcessorHostOptions> = {
  hostName: option.text,
  group: option.text,
  feed: requiredOption(option.feed),
  leases: requiredOption(option.leases),
  deadLetters: orElse(deadLetters, (value) => typeof value === 'function'),
  feedOptions: optionGroup(feedOptions),
  hostOptions: optionGroup(hostOptions),
  logger: orElse(logger, (value) => value === false),
  clock: option.clock,
  random: option.random,
}

function textOr(other: OptionRule): OptionRule {
  return orElse({ ...other, expected: `a text or ${other.expected}` }, option.text.accepts)
}

function orElse(given: OptionRule, accepts: OptionRule['accepts']): OptionRule {
  return { ...given, accepts: (value) => given.accepts(value) || accepts(value) }
}
