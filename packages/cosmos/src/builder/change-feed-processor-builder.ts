import {
  InvalidOptionError,
  type Change,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedRange,
  type Fence,
  type LeaseStore,
  type ObserverContext,
  type Stored,
  type VersionChange,
} from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import {
  MemoryLeaseStore,
  cosmosDefaults,
  type ChangeFeedProcessorHostOptions,
  type FeedOptions,
  type HostOptions,
} from '@tidemark/processor'
import type { CosmosContainer } from '../cosmos-container.ts'
import { cosmosLeases } from '../cosmos-leases.ts'
import { cosmosFeed } from '../feed/cosmos-feed.ts'
import {
  ChangeFeedProcessor,
  type ErrorNotification,
  type LeaseNotification,
} from './change-feed-processor.ts'

/** What a handler is told beside its changes. */
export interface ChangeFeedProcessorContext {
  /** `min-max` of the lease's keys. */
  readonly leaseToken: string
  readonly feedRange: FeedRange
  /** 1 for the first call with these changes. */
  readonly attempt: number
  /** For sinks that refuse a stale owner. */
  readonly fence: Fence
  /**
   * Stores the end of these changes as the position to resume from: for `manualCheckpoint`.
   *
   * Rejects with ERR_LEASE_LOST when another host owns the lease.
   */
  readonly checkpoint: () => Promise<void>
}

/**
 * Gets the changes of one lease, call after call, in feed order, at least once: documents in their newest version, or items of
 * all versions and deletes. When it throws or rejects, the same changes come again. `signal` is aborted when the lease
 * can no longer be relied on.
 */
export type ChangesHandler<Item> = (
  context: ChangeFeedProcessorContext,
  changes: readonly Item[],
  signal: AbortSignal,
) => Promise<void> | void

/** How leases are kept. Left out ones are V3's. */
export interface LeaseConfiguration {
  /**
   * How often the host retries leases that were not free.
   * @range any number above 0, up to 2_147_483_647 @default 13_000 (both SDKs)
   */
  readonly acquireIntervalMs?: number | undefined
  /**
   * A host without a heartbeat for this long loses its leases.
   * @range any number above 0, up to 2_147_483_647 @default 60_000 (both SDKs)
   */
  readonly expirationIntervalMs?: number | undefined
  /**
   * Interval of the heartbeat. At most half of `expirationIntervalMs`.
   * @range any number above 0, up to 2_147_483_647 @default 17_000 (both SDKs)
   */
  readonly renewIntervalMs?: number | undefined
}

/**
 * Begins a processor in the words of the .NET and Java SDKs: `GetChangeFeedProcessorBuilder`, `handleLatestVersionChanges`.
 * Its defaults are theirs (`cosmosDefaults`), and the guide has a table of all their options.
 *
 * `processorName`: processors of one name share the work. It is the group of their hosts. In one lease container a name is of one
 * monitored container (ERR_GROUP_OF_OTHER_FEED); in .NET, the container is part of it.
 *
 * @throws ERR_INVALID_OPTION
 */
export function changeFeedProcessor<T extends DocumentBody = DocumentBody>(
  processorName: string,
  handler: ChangesHandler<Stored<T>>,
): ChangeFeedProcessorBuilder<T> {
  const documentsOf = (changes: readonly Change<T>[]): readonly Stored<T>[] =>
    changes.flatMap((change) => (change.kind === 'document' ? [change.document] : []))
  return new ChangeFeedProcessorBuilder<T>(processorName, {
    mode: 'latestVersion',
    handle: handlerOf(handler, documentsOf),
  })
}

/**
 * The same for all versions and deletes: `GetChangeFeedProcessorBuilderWithAllVersionsAndDeletes`,
 * `handleAllVersionsAndDeletesChanges`. Without leases, it starts from now only.
 *
 * @throws ERR_INVALID_OPTION
 */
export function changeFeedProcessorWithAllVersionsAndDeletes<T extends DocumentBody = DocumentBody>(
  processorName: string,
  handler: ChangesHandler<VersionChange<T>>,
): ChangeFeedProcessorBuilder<T> {
  const versionsOf = (changes: readonly Change<T>[]): readonly VersionChange<T>[] =>
    changes.filter((change) => change.kind === 'version')
  return new ChangeFeedProcessorBuilder<T>(processorName, {
    mode: 'allVersions',
    handle: handlerOf(handler, versionsOf),
  })
}

type Observe<T extends DocumentBody> = (
  context: ObserverContext,
  changes: readonly Change<T>[],
) => Promise<void>

/** See `changeFeedProcessor`. Each method returns the builder; what is called twice counts as it was called last. */
export class ChangeFeedProcessorBuilder<T extends DocumentBody = DocumentBody> {
  readonly #processorName: string
  readonly #observe: Observe<T>
  #feed: ChangeFeedSource<T> | undefined
  #leases: LeaseStore | undefined
  #hostName: string | undefined
  #feedOptions: FeedOptions
  #hostOptions: HostOptions = cosmosDefaults
  #more: Partial<ChangeFeedProcessorHostOptions<T>> = {}
  #onError: ErrorNotification | undefined
  #onLeaseAcquired: LeaseNotification | undefined
  #onLeaseReleased: LeaseNotification | undefined

  /** For `changeFeedProcessor`. */
  constructor(
    processorName: string,
    { mode, handle }: { readonly mode: FeedOptions['mode']; readonly handle: Observe<T> },
  ) {
    this.#processorName = processorName
    this.#observe = handle
    // V3 knows nothing of pending deletes.
    this.#feedOptions = { mode, ...(mode === 'latestVersion' && { pendingDeletes: false }) }
  }

  /** Unique among running processes: `WithInstanceName`, `hostName`. @default as `hostName` of the host */
  instanceName(name: string): this {
    this.#hostName = name
    return this
  }

  /** The monitored container, or any other feed: `feedContainer`. In .NET, it makes the builder. */
  feed(feed: CosmosContainer | ChangeFeedSource<T>): this {
    this.#feed = has<ChangeFeedSource<T>>(feed, 'readPage') ? feed : cosmosFeed<T>(feed)
    return this
  }

  /**
   * Where leases are kept: `WithLeaseContainer`, `leaseContainer`. A container partitioned by `/partitionKey`, see `cosmosLeases`,
   * or any other lease store.
   */
  leaseContainer(leases: CosmosContainer | LeaseStore): this {
    this.#leases = has<LeaseStore>(leases, 'openGroup') ? leases : cosmosLeases(leases)
    return this
  }

  /** Leases in this process, gone with it: `WithInMemoryLeaseContainer`. To keep positions, see `ProcessorGroup.snapshot`. */
  inMemoryLeaseContainer(): this {
    this.#leases = new MemoryLeaseStore()
    return this
  }

  /** Where keys without a lease start: `WithStartTime`, `setStartTime`. From the changes of this second on. */
  startTime(time: Date): this {
    this.#feedOptions = { ...this.#feedOptions, startTime: time }
    return this
  }

  /** `WithStartTime(DateTime.MinValue.ToUniversalTime())`, `setStartFromBeginning(true)`. */
  startFromBeginning(): this {
    this.#feedOptions = { ...this.#feedOptions, startFromBeginning: true }
    return this
  }

  /** Changes for one call at most: `WithMaxItems`, `setMaxItemCount`. Transactions stay whole. @default the service's choice */
  maxItems(count: number): this {
    this.#feedOptions = { ...this.#feedOptions, maxItemCount: count }
    return this
  }

  /** Pause after a read without changes, in ms: `WithPollInterval`, `setFeedPollDelay`. @default 5_000 (both SDKs) */
  pollInterval(ms: number): this {
    return this.hostOptions({ feedPollDelayMs: ms })
  }

  /** `WithLeaseConfiguration`, and the three options of Java. */
  leaseConfiguration({
    acquireIntervalMs,
    expirationIntervalMs,
    renewIntervalMs,
  }: LeaseConfiguration): this {
    return this.hostOptions({
      leaseAcquireIntervalMs: acquireIntervalMs ?? cosmosDefaults.leaseAcquireIntervalMs,
      leaseExpirationIntervalMs: expirationIntervalMs ?? cosmosDefaults.leaseExpirationIntervalMs,
      leaseRenewIntervalMs: renewIntervalMs ?? cosmosDefaults.leaseRenewIntervalMs,
    })
  }

  /** Positions are stored when the handler calls `context.checkpoint()`: `...WithManualCheckpoint`. */
  manualCheckpoint(): this {
    return this.hostOptions({ checkpointFrequency: 'manual' })
  }

  /** `WithErrorNotification`: errors of the handler, the feed, the lease store, and the one that stops the processor. */
  onError(listener: ErrorNotification): this {
    this.#onError = listener
    return this
  }

  /** `WithLeaseAcquireNotification`. */
  onLeaseAcquired(listener: LeaseNotification): this {
    this.#onLeaseAcquired = listener
    return this
  }

  /** `WithLeaseReleaseNotification`: also for a lease that was lost to another host. */
  onLeaseReleased(listener: LeaseNotification): this {
    this.#onLeaseReleased = listener
    return this
  }

  /** Any other option of the host, such as `minPartitionCount` and `maxPartitionCount`: Java's `setMinScaleCount`, `setMaxScaleCount`. */
  hostOptions(options: HostOptions): this {
    this.#hostOptions = { ...this.#hostOptions, ...options }
    return this
  }

  /** What the host has beyond that: `deadLetters`, `logger`, `telemetry`, `clock`, `random`. */
  with(
    options: Pick<
      ChangeFeedProcessorHostOptions<T>,
      'clock' | 'deadLetters' | 'logger' | 'random' | 'telemetry'
    >,
  ): this {
    this.#more = { ...this.#more, ...options }
    return this
  }

  /**
   * A processor that is not started.
   *
   * @throws ERR_INVALID_OPTION naming what is missing or wrong
   */
  build(): ChangeFeedProcessor<T> {
    const feed = this.#feed
    const leases = this.#leases
    if (feed === undefined) throw missing('feed(container)')
    if (leases === undefined) throw missing('leaseContainer(container)')
    const options = {
      ...this.#more,
      hostName: this.#hostName,
      group: this.#processorName,
      feed,
      leases,
      feedOptions: this.#feedOptions,
      hostOptions: this.#hostOptions,
    }
    const notifications = {
      onError: this.#onError,
      onLeaseAcquired: this.#onLeaseAcquired,
      onLeaseReleased: this.#onLeaseReleased,
    }
    return new ChangeFeedProcessor<T>(options, { observe: this.#observe, notifications })
  }
}

function handlerOf<T extends DocumentBody, Item>(
  handler: ChangesHandler<Item>,
  itemsOf: (changes: readonly Change<T>[]) => readonly Item[],
): Observe<T> {
  if (typeof handler !== 'function') {
    throw new InvalidOptionError(
      `handler must be a function (context, changes, signal), got ${describeValue(handler)}`,
    )
  }
  return async (context, changes) => {
    const { leaseId, range, attempt, fence, signal } = context
    const about: ChangeFeedProcessorContext = {
      leaseToken: leaseId,
      feedRange: range,
      attempt,
      fence,
      checkpoint: () => context.checkpoint(),
    }
    await handler(about, itemsOf(changes), signal)
  }
}

/** JavaScript may give anything: what is no container either is refused as one. */
function has<One extends object>(value: unknown, name: keyof One): value is One {
  return typeof value === 'object' && value !== null && name in value
}

function missing(what: string): InvalidOptionError {
  return new InvalidOptionError(`the builder of a change feed processor needs ${what}`)
}
