import { isDate } from 'node:util/types'
import {
  InvalidOptionError,
  LeaseStorageError,
  checkOptions,
  checkedGroupName,
  systemClock,
  systemRandom,
  type ChangeFeedSource,
  type Clock,
  type DeadLetterSink,
  type DocumentBody,
  type FeedMode,
  type LeaseStore,
  type Random,
  type StartPosition,
} from '@tidemark/contracts'
import { canRecover } from '../bootstrapping/recover-leases.ts'
import type { FailurePolicy } from '../feed-processing/bisection.ts'
import type {
  ChangeFeedProcessorHostOptions,
  CheckpointFrequency,
  FailurePolicyOptions,
  FeedOptions,
  HostOptions,
} from './host-options.ts'
import { hostOptionRules } from './host-option-rules.ts'
import { defaultHostName } from './platform/default-host-name.ts'

/** Longest delay that the platform's timers keep. */
const MAX_INTERVAL_MS = 2 ** 31 - 1
const MAX_COUNT = 2 ** 31 - 1
const DEFAULT_REFUSAL_MS = 600_000

/** All options with their defaults, checked together. */
export interface ResolvedHostOptions<T extends DocumentBody> {
  readonly hostName: string
  readonly group: string
  readonly feed: ChangeFeedSource<T>
  readonly leases: LeaseStore
  readonly deadLetters: DeadLetterSink<T> | undefined
  readonly clock: Clock
  readonly random: Random
  readonly start: StartPosition
  readonly maxItemCount: number | undefined
  readonly partitionKeyRangeId: string | undefined
  readonly pendingDeletes: boolean | undefined
  readonly mode: FeedMode
  readonly onHorizonPassed: 'fail' | 'resync'
  readonly renewIntervalMs: number
  readonly expirationIntervalMs: number
  readonly acquireIntervalMs: number
  readonly feedPollDelayMs: number
  readonly checkpointFrequency: CheckpointFrequency
  readonly minLeases: number
  readonly maxLeases: number
  readonly weight: number
  readonly standby: boolean
  /** For how long a lease is refused whose observer hangs here. */
  readonly refusalMs: number
  readonly discardToken: string | undefined
  readonly maxConcurrentObservers: number
  readonly failurePolicy: FailurePolicy
  readonly redrivePollMs: number
  readonly maxBatchMs: number
  readonly maxConcurrentKeys: number
  readonly laneWindowChanges: number
  readonly readAheadPages: number
  readonly retryDelayMs: number
  readonly retryMaxDelayMs: number
  readonly handoffTimeoutMs: number
  readonly shutdownTimeoutMs: number
  readonly abortGraceMs: number
  readonly startTimeoutMs: number
  readonly storeTimeoutMs: number
  readonly onLeaseStoreLoss: 'recover' | 'stop'
}

/**
 * Applies defaults and checks everything that can be checked without I/O.
 *
 * @throws ERR_INVALID_OPTION naming the option
 * @throws ERR_LEASE_STORAGE when the lease collection is the monitored one (LE-2)
 */
export function resolveHostOptions<T extends DocumentBody>(
  options: ChangeFeedProcessorHostOptions<T>,
): ResolvedHostOptions<T> {
  checkOptions(options, hostOptionRules)
  const { feed, leases, feedOptions = {}, hostOptions = {}, random = systemRandom } = options
  const { hostName = defaultHostName(random) } = options
  if (hostName === '') throw new InvalidOptionError('hostName must not be empty')
  if (leases.collectionIdentity !== undefined && leases.collectionIdentity === feed.identity) {
    throw new LeaseStorageError(
      `leases must not be kept in the monitored collection itself (${feed.description}): each renewal would be a change of it`,
    )
  }
  const pumpOptions = resolvePumpOptions(hostOptions)
  return {
    deadLetters: resolveDeadLetters(options.deadLetters, pumpOptions.failurePolicy),
    hostName,
    group: resolveGroup(options.group, hostOptions.leasePrefix),
    feed,
    leases,
    clock: options.clock ?? systemClock,
    random,
    ...resolveFeedOptions(feedOptions),
    ...resolveLeaseOptions(hostOptions),
    ...pumpOptions,
    onLeaseStoreLoss: resolveLossPolicy(hostOptions.onLeaseStoreLoss, feed),
  }
}

function resolveLossPolicy<T extends DocumentBody>(
  wanted: HostOptions['onLeaseStoreLoss'],
  feed: ChangeFeedSource<T>,
): 'recover' | 'stop' {
  if (wanted === undefined) return canRecover(feed) ? 'recover' : 'stop'
  oneOf({ onLeaseStoreLoss: wanted }, ['recover', 'stop'])
  if (wanted === 'recover' && !canRecover(feed)) {
    throw new InvalidOptionError(
      `onLeaseStoreLoss 'recover' needs a feed that keeps positions of groups and makes continuations of them; ${feed.description} does not`,
    )
  }
  return wanted
}

function resolveDeadLetters<T extends DocumentBody>(
  given: ChangeFeedProcessorHostOptions<T>['deadLetters'],
  { mode }: FailurePolicy,
): DeadLetterSink<T> | undefined {
  if (mode === 'deadLetter' && given === undefined) {
    throw new InvalidOptionError(
      "failurePolicy 'deadLetter' needs deadLetters: where they are kept",
    )
  }
  if (typeof given !== 'function') return given
  return {
    put: async (letter, callOptions) => {
      await given(letter, callOptions)
    },
  }
}

function resolveGroup(group: string | undefined, leasePrefix: string | undefined): string {
  if (group !== undefined && leasePrefix !== undefined && group !== leasePrefix) {
    throw new InvalidOptionError(
      `group (${show(group)}) and leasePrefix (${show(leasePrefix)}) name the same thing and differ`,
    )
  }
  return checkedGroupName(group ?? leasePrefix ?? 'default')
}

function resolveFeedOptions(
  options: FeedOptions,
): Pick<
  ResolvedHostOptions<DocumentBody>,
  'start' | 'maxItemCount' | 'partitionKeyRangeId' | 'pendingDeletes' | 'mode' | 'onHorizonPassed'
> {
  const { maxItemCount, partitionKeyRangeId, pendingDeletes } = options
  const { mode = 'latestVersion', onHorizonPassed = 'fail' } = options
  if (maxItemCount !== undefined && maxItemCount !== -1) integer({ maxItemCount }, 1, MAX_COUNT)
  if (partitionKeyRangeId === '') {
    throw new InvalidOptionError('partitionKeyRangeId must not be empty')
  }
  oneOf({ mode }, ['latestVersion', 'allVersions'])
  oneOf({ onHorizonPassed }, ['fail', 'resync'])
  if (mode === 'allVersions' && onHorizonPassed === 'resync') {
    throw new InvalidOptionError(
      "onHorizonPassed 'resync' is for mode 'latestVersion': versions that were purged are in no document that could be read again",
    )
  }
  return {
    start: startPosition(options),
    maxItemCount: maxItemCount === -1 ? undefined : maxItemCount,
    partitionKeyRangeId,
    pendingDeletes,
    mode,
    onHorizonPassed,
  }
}

/**
 * Where leases begin that do not exist yet (CF-6).
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function startPosition(options: FeedOptions): StartPosition {
  const { startContinuation, startTime, startFromBeginning = false } = options
  if (startTime !== undefined) {
    if (!(isDate(startTime) && Number.isFinite(startTime.getTime()))) {
      throw new InvalidOptionError(`startTime must be a valid date, got ${show(startTime)}`)
    }
    if (startContinuation === undefined) return startTime
  }
  if (startContinuation !== undefined) {
    return { continuation: startContinuation }
  }
  return startFromBeginning ? 'beginning' : 'now'
}

function resolveLeaseOptions(
  options: HostOptions,
): Pick<
  ResolvedHostOptions<DocumentBody>,
  | 'renewIntervalMs'
  | 'expirationIntervalMs'
  | 'acquireIntervalMs'
  | 'minLeases'
  | 'maxLeases'
  | 'weight'
  | 'standby'
  | 'discardToken'
  | 'startTimeoutMs'
  | 'storeTimeoutMs'
> {
  const { leaseRenewIntervalMs = 2_000, leaseExpirationIntervalMs = 8_000 } = options
  const { leaseAcquireIntervalMs = 2_000, startTimeoutMs = 30_000 } = options
  const { leaseStoreTimeoutMs = leaseRenewIntervalMs, weight = 1, standby = false } = options
  const { minPartitionCount = 0, maxPartitionCount = MAX_COUNT, discardExistingLeases } = options
  interval({ leaseRenewIntervalMs })
  interval({ leaseExpirationIntervalMs })
  interval({ leaseAcquireIntervalMs })
  interval({ startTimeoutMs })
  interval({ leaseStoreTimeoutMs })
  // Half: one failed renewal must leave time for a second before another host may take the leases.
  if (leaseRenewIntervalMs * 2 > leaseExpirationIntervalMs) {
    throw new InvalidOptionError(
      `leaseRenewIntervalMs must be at most half of leaseExpirationIntervalMs (${leaseExpirationIntervalMs}), got ${leaseRenewIntervalMs}`,
    )
  }
  integer({ minPartitionCount }, 0, MAX_COUNT)
  integer({ maxPartitionCount }, 1, MAX_COUNT)
  if (minPartitionCount > maxPartitionCount) {
    throw new InvalidOptionError(
      `minPartitionCount must be at most maxPartitionCount (${maxPartitionCount}), got ${minPartitionCount}`,
    )
  }
  if (!(Number.isFinite(weight) && weight > 0)) {
    throw new InvalidOptionError(`weight must be above 0, got ${show(weight)}`)
  }
  if (discardExistingLeases === '') {
    throw new InvalidOptionError('discardExistingLeases must not be empty')
  }
  return {
    renewIntervalMs: leaseRenewIntervalMs,
    expirationIntervalMs: leaseExpirationIntervalMs,
    acquireIntervalMs: leaseAcquireIntervalMs,
    minLeases: minPartitionCount,
    maxLeases: maxPartitionCount,
    weight,
    standby,
    discardToken: discardExistingLeases,
    startTimeoutMs,
    storeTimeoutMs: leaseStoreTimeoutMs,
  }
}

function resolvePumpOptions(
  options: HostOptions,
): Pick<
  ResolvedHostOptions<DocumentBody>,
  | 'feedPollDelayMs'
  | 'checkpointFrequency'
  | 'maxConcurrentObservers'
  | 'failurePolicy'
  | 'redrivePollMs'
  | 'maxBatchMs'
  | 'refusalMs'
  | 'maxConcurrentKeys'
  | 'laneWindowChanges'
  | 'readAheadPages'
  | 'retryDelayMs'
  | 'retryMaxDelayMs'
  | 'handoffTimeoutMs'
  | 'shutdownTimeoutMs'
  | 'abortGraceMs'
> {
  const { feedPollDelayMs = 1_000, checkpointFrequency = 'everyBatch' } = options
  const { maxConcurrentKeys = 1, laneWindowChanges = 10_000, maxBatchMs = 600_000 } = options
  const { maxConcurrentObservers = Math.max(32, 4 * maxConcurrentKeys) } = options
  const { redrivePollMs = 10_000, readAheadPages = 1 } = options
  const { retryDelayMs = 200, retryMaxDelayMs = 30_000 } = options
  const { handoffTimeoutMs = 30_000, shutdownTimeoutMs = 30_000, abortGraceMs = 5_000 } = options
  interval({ feedPollDelayMs })
  interval({ retryDelayMs })
  interval({ retryMaxDelayMs })
  if (retryDelayMs > retryMaxDelayMs) {
    throw new InvalidOptionError(
      `retryDelayMs must be at most retryMaxDelayMs (${retryMaxDelayMs}), got ${retryDelayMs}`,
    )
  }
  integer({ handoffTimeoutMs }, 0, MAX_INTERVAL_MS)
  integer({ shutdownTimeoutMs }, 0, MAX_INTERVAL_MS)
  integer({ abortGraceMs }, 0, MAX_INTERVAL_MS)
  integer({ maxConcurrentObservers }, 1, MAX_COUNT)
  integer({ maxConcurrentKeys }, 1, MAX_COUNT)
  integer({ laneWindowChanges }, 1, MAX_COUNT)
  interval({ redrivePollMs })
  if (maxBatchMs !== Infinity) interval({ maxBatchMs })
  if (maxConcurrentKeys > 1 && checkpointFrequency === 'manual') {
    throw new InvalidOptionError(
      "maxConcurrentKeys above 1 is not for checkpointFrequency 'manual': no batch is the end of what was done",
    )
  }
  integer({ readAheadPages }, 1, MAX_COUNT)
  return {
    feedPollDelayMs,
    checkpointFrequency: resolveCheckpointFrequency(checkpointFrequency),
    maxConcurrentObservers,
    failurePolicy: resolveFailurePolicy(options.failurePolicy),
    redrivePollMs,
    maxBatchMs,
    refusalMs: maxBatchMs === Infinity ? DEFAULT_REFUSAL_MS : maxBatchMs,
    maxConcurrentKeys,
    laneWindowChanges,
    readAheadPages,
    retryDelayMs,
    retryMaxDelayMs,
    handoffTimeoutMs,
    shutdownTimeoutMs,
    abortGraceMs,
  }
}

function resolveFailurePolicy(given: HostOptions['failurePolicy'] = 'retryForever'): FailurePolicy {
  const options: FailurePolicyOptions = typeof given === 'string' ? { mode: given } : given
  const { mode, maxAttempts = 5, maxConsecutiveDeadLetters = 100 } = options
  oneOf({ 'failurePolicy.mode': mode }, ['retryForever', 'deadLetter', 'haltRange'])
  integer({ 'failurePolicy.maxAttempts': maxAttempts }, 1, MAX_COUNT)
  integer({ 'failurePolicy.maxConsecutiveDeadLetters': maxConsecutiveDeadLetters }, 1, MAX_COUNT)
  return { mode, maxAttempts, maxConsecutiveDeadLetters }
}

function resolveCheckpointFrequency(frequency: CheckpointFrequency): CheckpointFrequency {
  if (frequency === 'everyBatch' || frequency === 'manual') return frequency
  // Callers without types may pass anything.
  const given: unknown = frequency
  if (typeof given === 'object' && given !== null) {
    if ('everyChanges' in given && typeof given.everyChanges === 'number') {
      integer({ 'checkpointFrequency.everyChanges': given.everyChanges }, 1, MAX_COUNT)
      return frequency
    }
    if ('everyMs' in given && typeof given.everyMs === 'number') {
      interval({ 'checkpointFrequency.everyMs': given.everyMs })
      return frequency
    }
  }
  throw new InvalidOptionError(
    `checkpointFrequency must be 'everyBatch', 'manual', { everyChanges } or { everyMs }, got ${show(given)}`,
  )
}

function interval(option: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(option)) {
    if (!(Number.isFinite(value) && value > 0 && value <= MAX_INTERVAL_MS)) {
      throw new InvalidOptionError(
        `${name} must be above 0 and at most ${MAX_INTERVAL_MS} ms, got ${show(value)}`,
      )
    }
  }
}

function integer(option: Readonly<Record<string, number>>, min: number, max: number): void {
  for (const [name, value] of Object.entries(option)) {
    if (!(Number.isInteger(value) && value >= min && value <= max)) {
      throw new InvalidOptionError(
        `${name} must be a whole number from ${min} to ${max}, got ${show(value)}`,
      )
    }
  }
}

function oneOf(option: Readonly<Record<string, string>>, known: readonly string[]): void {
  for (const [name, value] of Object.entries(option)) {
    if (!known.includes(value)) {
      throw new InvalidOptionError(
        `${name} must be ${known.map((one) => `'${one}'`).join(' or ')}, got ${show(value)}`,
      )
    }
  }
}

function show(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
}
