import type {
  ChangeFeedSource,
  Clock,
  DeadLetter,
  DeadLetterSink,
  DocumentBody,
  LeaseStore,
  SinkCallOptions,
  Logger,
  Random,
  Telemetry,
} from '@tidemark/contracts'
import type { ReadOptions, WorkOptions } from '../feed-processing/pump-options.ts'

/**
 * Where and what a host reads (PH-6). A start position only applies to leases that do not exist yet:
 * a stored lease wins over `startContinuation`, which wins over `startTime`, which wins over
 * `startFromBeginning`. Without any of them, the group starts from now (CF-6).
 */
export interface FeedOptions extends ReadOptions {
  /** Starts with the oldest change that the feed still has, instead of now. @default false (now) */
  startFromBeginning?: boolean | undefined
  /** Starts with the changes of this second. @default none */
  startTime?: Date | undefined
  /**
   * Starts where a page of this collection ended, of a range that contains the ranges read; else
   * ERR_INVALID_CONTINUATION.
   * @default none
   */
  startContinuation?: string | undefined
  /** Only this pkrange: its id, or its feed range as `min-max` for feeds without ids. @default all */
  partitionKeyRangeId?: string | undefined
  /**
   * Leases for each pkrange, so that more hosts than there are pkranges can share the work: each lease is an interval of keys
   * of its own. Each of them reads the feed of its pkrange and skips the others' keys. A pkrange that was split or merged gets as
   * many, too. From 1 to 256.
   *
   * It may be changed while the group runs, with no more repeats than hand-overs have: leases are cut as soon as one host of the
   * group wants more, and joined, one by one as they stand at one place, once no host does. ERR_INVALID_OPTION for feeds that read
   * whole pkranges only.
   *
   * @range 1 to 256 @default 1
   */
  leasesPerRange?: number | undefined
  /**
   * What the group's hosts share out evenly:
   *
   * - `count`: the number of leases, by `weight`.
   * - `load`: what leases cost, by `weight`. Hosts measure that: time in the observer and changes, over about a minute. Few
   *   leases move: at most 4, or 5 % of all, within a minute, none of them twice, and only while two hosts differ by more than
   *   20 % of the mean. A host that joins gets its share at once. Bounds of hosts hold as with `count`.
   *
   * `count` holds until all hosts of the group say `load`, and while the cost of most leases is not known. @default 'count'
   */
  balanceBy?: 'count' | 'load' | undefined
}

/** How a host keeps leases and works on them (PH-6). All intervals in ms. */
export interface HostOptions extends WorkOptions {
  /**
   * Interval of the heartbeat that renews all leases of the host at once. At most half of
   * `leaseExpirationIntervalMs`.
   * @range any number above 0, up to 2_147_483_647 @default 2_000
   */
  leaseRenewIntervalMs?: number | undefined
  /**
   * A host without a heartbeat for this long loses its leases. Longer: fewer takeovers from hosts that only
   * paused. Shorter: the ranges of a killed host continue sooner, where its death does not show at once (LE-16).
   * @range any number above 0, up to 2_147_483_647 @default 8_000
   */
  leaseExpirationIntervalMs?: number | undefined
  /**
   * How often this host retries leases that the plan assigns to it and that were not free. Each join, leave and
   * release also triggers a retry.
   * @range any number above 0, up to 2_147_483_647 @default 2_000
   */
  leaseAcquireIntervalMs?: number | undefined
  /**
   * The host gets at least this many leases, before the rest is shared evenly, if there are enough (LE-7).
   * @unit leases @range 0 to 2_147_483_647 @default 0
   */
  minPartitionCount?: number | undefined
  /**
   * The host never gets more leases. Leases that no host can take are the event `unownedRanges` (LE-7).
   * @unit leases @range 1 to 2_147_483_647 @default no limit
   */
  maxPartitionCount?: number | undefined
  /** Share of leases relative to other hosts. @unit share @range any number above 0 @default 1 */
  weight?: number | undefined
  /** Gets leases only while every host that is not on standby is gone or at its maximum. @default false */
  standby?: boolean | undefined
  /**
   * Deletes the group's leases at start, once for each new token, so that the group starts over
   * from the start position (LE-8). Hosts that start together pass the same token. @default nothing is deleted
   */
  discardExistingLeases?: string | undefined
  /** The Cosmos name of `group`, for programs that have it. If both are given, they must be equal. @default `group` */
  leasePrefix?: string | undefined
  /**
   * Observer calls of this host that run at the same time.
   * @unit calls @range 1 to 2_147_483_647 @default 32, or four times `maxConcurrentKeys` if that is more
   */
  maxConcurrentObservers?: number | undefined
  /**
   * How long a batch in flight may take when its lease must move to another host, or is to be cut. Then it is aborted, and the
   * lease is handed over, or cut, without its checkpoint.
   * @range 0 to 2_147_483_647 @default 30_000
   */
  handoffTimeoutMs?: number | undefined
  /** The same for `unregisterObservers`. @range 0 to 2_147_483_647 @default 30_000 */
  shutdownTimeoutMs?: number | undefined
  /**
   * `registerObserver` rejects if the stores do not answer for this long.
   * @range any number above 0, up to 2_147_483_647 @default 30_000
   */
  startTimeoutMs?: number | undefined
  /**
   * A call to the lease store without an answer in this time has failed.
   * @range any number above 0, up to 2_147_483_647 @default `leaseRenewIntervalMs`
   */
  leaseStoreTimeoutMs?: number | undefined
  /**
   * What happens if the lease store has lost its data, has no leases of a group whose positions the
   * feed still has, or has leases that do not cover all keys. The group never silently starts from now.
   *
   * - `recover`: observers are closed. Every host reports to the feed which positions were stored, waits for
   *   `leaseExpirationIntervalMs`, and continues with leases created from the feed's positions. Changes after positions
   *   that were not reported are repeated.
   * - `stop`: the host stops, and hosts do not start, with ERR_LEASES_VANISHED.
   *
   * @default 'recover' with feeds that keep positions of groups and can turn them into continuations (a
   * Tidemark collection), else 'stop'
   */
  onLeaseStoreLoss?: 'recover' | 'stop' | undefined
}

export interface ChangeFeedProcessorHostOptions<T extends DocumentBody = DocumentBody> {
  /**
   * Unique among running processes: a second process with the same name takes over from the first. With a stable name,
   * such as that of a pod, a host that was killed continues as soon as it restarts. With a new name, its leases wait for
   * the old session to expire (`leaseExpirationIntervalMs`), unless its death shows at once (LE-16). @default machine name, process id and a random part
   */
  hostName?: string | undefined
  /**
   * The processor group: hosts of one name share the feed, and each other name gets all of it. So two programs that do
   * different things need two names.
   */
  group: string
  feed: ChangeFeedSource<T>
  /** Must not be in the monitored collection itself (LE-2). */
  leases: LeaseStore
  /** Where changes go that keep failing, with `failurePolicy` `deadLetter`: a sink, or a function. @default none */
  deadLetters?:
    | DeadLetterSink<T>
    | ((letter: DeadLetter<T>, options: SinkCallOptions) => Promise<void> | void)
    | undefined
  feedOptions?: FeedOptions | undefined
  hostOptions?: HostOptions | undefined
  /**
   * Gets trouble as warnings and errors: observers and feeds that fail, stores that are away, dead letters, halted ranges, lost
   * leases, a host that stopped because of an error. There is at most one line per event in 10 s; the next one says how many were
   * suppressed. Your own logger gets all such events, also with `info` and `debug` what a host does otherwise, such as acquiring
   * leases. Fields: `event`, `group`, `host`, and where they apply `range` (id of the lease), `epoch`, `lsn`, `attempt`, `code`.
   * `false` turns the log off.
   *
   * @default one line each on standard error, for warnings and errors without a listener
   */
  logger?: Logger | false | undefined
  /** Each call of `processChanges` is made in a span of it. @default none */
  telemetry?: Telemetry | undefined
  /** @default the machine's */
  clock?: Clock | undefined
  /** @default the machine's */
  random?: Random | undefined
}

/**
 * The intervals of Azure Cosmos DB's .NET change feed processor, for `hostOptions`. With them, a
 * crash or a new host takes effect after minutes. The defaults are better for new programs.
 */
export const cosmosDefaults: HostOptions = {
  leaseRenewIntervalMs: 17_000,
  leaseExpirationIntervalMs: 60_000,
  leaseAcquireIntervalMs: 13_000,
  feedPollDelayMs: 5_000,
}
