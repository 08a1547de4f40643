import { isDate } from 'node:util/types'
import {
  InvalidOptionError,
  LeaseStorageError,
  checkedGroupName,
  systemClock,
  systemRandom,
  type ChangeFeedSource,
  type Clock,
  type DeadLetterSink,
  type DocumentBody,
  type LeaseStore,
  type Random,
  type StartPosition,
  type Telemetry,
} from '@tidemark/contracts'
import { checkOptions } from '@tidemark/contracts/internal'
import { canRecover } from '../bootstrapping/recover-leases.ts'
import type { FailurePolicy, PumpOptions, WorkOptions } from '../feed-processing/pump-options.ts'
import type { ChangeFeedProcessorHostOptions, FeedOptions, HostOptions } from './host-options.ts'
import {
  hostOptionRules,
  withFeedDefaults,
  withHostDefaults,
  withPolicyDefaults,
} from './host-option-rules.ts'
import { defaultHostName } from './platform/default-host-name.ts'

const DEFAULT_REFUSAL_MS = 600_000

/** All options with their defaults, checked together. */
export interface ResolvedHostOptions<T extends DocumentBody>
  extends
    PumpOptions,
    Pick<
      ReturnType<typeof withFeedDefaults>,
      'partitionKeyRangeId' | 'leasesPerRange' | 'balanceBy'
    >,
    Omit<ReturnType<typeof withHostDefaults>, keyof WorkOptions | 'leasePrefix'> {
  readonly feed: ChangeFeedSource<T>
  readonly leases: LeaseStore
  readonly deadLetters: DeadLetterSink<T> | undefined
  readonly telemetry: Telemetry | undefined
  readonly clock: Clock
  readonly random: Random
  readonly start: StartPosition
  readonly maxConcurrentObservers: number
  readonly leaseStoreTimeoutMs: number
  readonly onLeaseStoreLoss: 'recover' | 'stop'
  /** For how long a lease is refused whose observer hangs here. */
  readonly refusalMs: number
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
  const { hostName = defaultHostName(random), clock = systemClock } = options
  if (leases.collectionIdentity !== undefined && leases.collectionIdentity === feed.identity) {
    throw new LeaseStorageError(
      `leases must not be kept in the monitored collection itself (${feed.description}): each renewal would be a change of it`,
    )
  }
  const read = withFeedDefaults(feedOptions)
  const work = withHostDefaults(hostOptions)
  if (read.leasesPerRange > 1 && feed.divideRange === undefined) {
    throw new InvalidOptionError(
      `feedOptions.leasesPerRange above 1 needs a feed that reads parts of a pkrange; ${feed.description} does not`,
    )
  }
  checkTogether({ ...read, ...work })
  const failurePolicy = withPolicyDefaults(work.failurePolicy)
  const { maxConcurrentKeys, maxBatchMs, leaseRenewIntervalMs } = work
  return {
    ...read,
    ...work,
    maxItemCount: read.maxItemCount === -1 ? undefined : read.maxItemCount,
    maxConcurrentObservers: work.maxConcurrentObservers ?? Math.max(32, 4 * maxConcurrentKeys),
    leaseStoreTimeoutMs: work.leaseStoreTimeoutMs ?? leaseRenewIntervalMs,
    refusalMs: maxBatchMs === Infinity ? DEFAULT_REFUSAL_MS : maxBatchMs,
    onLeaseStoreLoss: resolveLossPolicy(work.onLeaseStoreLoss, feed),
    failurePolicy,
    deadLetters: resolveDeadLetters(options.deadLetters, failurePolicy),
    telemetry: options.telemetry,
    start: startPosition(feedOptions),
    group: resolveGroup(options.group, work.leasePrefix),
    hostName,
    feed,
    leases,
    clock,
    random,
  }
}

function checkTogether(
  options: ReturnType<typeof withFeedDefaults> & ReturnType<typeof withHostDefaults>,
): void {
  const { leaseRenewIntervalMs, leaseExpirationIntervalMs } = options
  const { minPartitionCount, maxPartitionCount, retryDelayMs, retryMaxDelayMs } = options
  const { maxConcurrentKeys, checkpointFrequency } = options
  // Half: one failed renewal must leave time for a second before another host may take the leases.
  if (leaseRenewIntervalMs * 2 > leaseExpirationIntervalMs) {
    throw new InvalidOptionError(
      `leaseRenewIntervalMs must be at most half of leaseExpirationIntervalMs (${leaseExpirationIntervalMs}), got ${leaseRenewIntervalMs}`,
    )
  }
  if (minPartitionCount > maxPartitionCount) {
    throw new InvalidOptionError(
      `minPartitionCount must be at most maxPartitionCount (${maxPartitionCount}), got ${minPartitionCount}`,
    )
  }
  if (retryDelayMs > retryMaxDelayMs) {
    throw new InvalidOptionError(
      `retryDelayMs must be at most retryMaxDelayMs (${retryMaxDelayMs}), got ${retryDelayMs}`,
    )
  }
  if (maxConcurrentKeys > 1 && checkpointFrequency === 'manual') {
    throw new InvalidOptionError(
      "maxConcurrentKeys above 1 is not for checkpointFrequency 'manual': no batch is the end of what was done",
    )
  }
}

function resolveLossPolicy<T extends DocumentBody>(
  wanted: HostOptions['onLeaseStoreLoss'],
  feed: ChangeFeedSource<T>,
): 'recover' | 'stop' {
  if (wanted === undefined) return canRecover(feed) ? 'recover' : 'stop'
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
      `group (${JSON.stringify(group)}) and leasePrefix (${JSON.stringify(leasePrefix)}) name the same thing and differ`,
    )
  }
  const name = group ?? leasePrefix
  if (name !== undefined) return checkedGroupName(name)
  throw new InvalidOptionError(
    'group is missing: name the processor group, such as group: "mail". Hosts of one name share the changes of the feed; ' +
      'a program that needs all of them has a name of its own',
  )
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
      throw new InvalidOptionError(`startTime must be a valid date, got ${String(startTime)}`)
    }
    if (startContinuation === undefined) return startTime
  }
  if (startContinuation !== undefined) {
    return { continuation: startContinuation }
  }
  return startFromBeginning ? 'beginning' : 'now'
}
