import PQueue from 'p-queue'
import {
  InvalidOptionError,
  checkedGroupName,
  commonKeys,
  errorCode,
  rangeContains,
  systemClock,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
  type Lease,
  type LeaseGroup,
  type LeaseGroupSnapshot,
  type LeaseStore,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { refuseOtherFeed } from '../bootstrapping/follow-feed.ts'
import { feedModeOf } from '../administration/feed-mode-of.ts'
import { byKeys } from '../lease-stores/keys-not-in.ts'
import { CatchUp } from './catch-up.ts'
import { totalEstimate, type FeedEstimate, type LeaseEstimate } from './feed-estimate.ts'
import { leaseEstimate, missingEstimate } from './lease-estimate.ts'
import { missingKeys, type MissingKeys } from './missing-keys.ts'
import { measureRange, type RangeMeasure, type RangeMeasureRequest } from './measure-range.ts'

/** The group whose lag is measured. Give the same options as to its hosts, so that only changes count that they get. */
export interface ChangeFeedEstimatorOptions<T extends DocumentBody = DocumentBody> {
  feed: ChangeFeedSource<T>
  leases: LeaseStore
  /** The processor group. */
  group: string
  /** Whether the hosts get pending deletes. @default the feed's choice, as for a host */
  pendingDeletes?: boolean | undefined
  /** The mode of the group. @default the mode of its stored positions */
  mode?: FeedMode | undefined
  /** Ranges that are measured at the same time. @range 1 or more @default 8 */
  maxConcurrentReads?: number | undefined
  /** @default the machine's */
  clock?: Clock | undefined
}

export interface EstimateOptions {
  /** Maximum number of changes that are counted in each range. @unit changes @range 1 or more @default 1_000 */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

export interface CatchUpOptions {
  /**
   * How long it waits; then it rejects with ERR_NOT_CAUGHT_UP.
   * @range any number above 0 @default none: it waits without end
   */
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
}

export const catchUpRules: OptionRules<CatchUpOptions> = {
  timeoutMs: option.number,
  signal: option.signal,
}

const RULES: OptionRules<ChangeFeedEstimatorOptions> = {
  feed: requiredOption(option.feed),
  leases: requiredOption(option.leases),
  group: requiredOption(option.text),
  pendingDeletes: option.flag,
  mode: option.text,
  maxConcurrentReads: option.number,
  clock: option.clock,
}
const DEFAULT_LIMIT = 1_000
const DEFAULT_CONCURRENT_READS = 8

/**
 * Measures how far a processor group is behind its feed (PH-9), from the group's leases and the feed. It needs no
 * host, does not disturb any, and changes no lease.
 *
 * One estimate costs one read of the group's leases, one of the feed's ranges, and one call of the feed for each range
 * (two without `measureLag`: the range's newest LSN, and a page of one change); at most `maxConcurrentReads` of them
 * at a time. `limit` is the maximum number of rows that such a call reads.
 */
export class ChangeFeedEstimator<T extends DocumentBody = DocumentBody> implements AsyncDisposable {
  readonly group: string
  readonly #options: ChangeFeedEstimatorOptions<T>
  readonly #clock: Clock
  readonly #concurrency: number
  #opened: Promise<LeaseGroup> | undefined

  /** Makes no call yet. @throws ERR_INVALID_OPTION */
  constructor(options: ChangeFeedEstimatorOptions<T>) {
    checkOptions(options, RULES)
    this.group = checkedGroupName(options.group)
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#concurrency = wholeNumber({
      maxConcurrentReads: options.maxConcurrentReads ?? DEFAULT_CONCURRENT_READS,
    })
  }

  /**
   * Follows ranges that were split or merged since their leases were written. The result has several moments: while
   * the feed is written, each range is exact for its own moment.
   *
   * Rejects with what the lease store says (ERR_LEASE_STORE_UNAVAILABLE, ERR_LEASE_STORAGE), with the feed's
   * failures, with ERR_GROUP_OF_OTHER_FEED, with ERR_INVALID_OPTION for a bad `limit`, and with the signal's reason.
   */
  async estimate(options: EstimateOptions = {}): Promise<FeedEstimate> {
    const limit = wholeNumber({ limit: options.limit ?? DEFAULT_LIMIT })
    const { signal } = options
    return whileRangesChange(() => this.#estimateOnce({ limit, signal }), signal)
  }

  /**
   * Resolves with the last estimate when the group has processed everything that was in the feed at the call, over
   * all hosts, and stored its position. With `checkpointFrequency: 'manual'`, only what its observers store counts.
   * It checks every 50 to 500 ms.
   *
   * It also waits for a range that cannot continue without help (`problem`), and while the lease store or the feed
   * fails.
   *
   * Rejects with ERR_NOT_CAUGHT_UP when the time is up, with the signal's reason, and with errors that are not
   * retryable.
   */
  async untilCaughtUp(options: CatchUpOptions = {}): Promise<FeedEstimate> {
    checkOptions(options, catchUpRules)
    const { timeoutMs, signal: given } = options
    const catchUp = new CatchUp({
      group: this.group,
      feed: this.#options.feed,
      mode: this.#options.mode,
      clock: this.#clock,
      // Enough to tell something from nothing.
      estimate: (signal) => this.estimate({ limit: 1, signal }),
    })
    return catchUp.within({ timeoutMs, signal: given }, async (signal) => {
      await catchUp.begin(signal)
      return catchUp.reached(signal)
    })
  }

  /** Releases the connection to the group's leases. Call it at the end. */
  async [Symbol.asyncDispose](): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    // One that could not be opened holds nothing.
    await opened?.then(
      (group) => group.close(),
      () => {},
    )
  }

  async #estimateOnce(request: MeasureRequest): Promise<FeedEstimate> {
    const { feed } = this.#options
    const snapshot = await this.#readLeases(request.signal)
    await refuseOtherFeed(snapshot, { feed, group: this.group }, request.signal)
    const present =
      snapshot.leases.length === 0 ? [] : await feed.readFeedRanges({ signal: request.signal })
    const found = await this.#estimateLeases(snapshot, present, request)
    const missing = await this.#estimateMissing(snapshot, present, request)
    const leases = [...found, ...missing].sort((a, b) => byKeys(a.range, b.range))
    return {
      group: this.group,
      feed: feed.description,
      atMs: this.#clock.wallMs(),
      paused: snapshot.paused,
      hosts: snapshot.hosts.map(({ host }) => host),
      ...totalEstimate(leases),
    }
  }

  async #readLeases(signal: AbortSignal | undefined): Promise<LeaseGroupSnapshot> {
    const group = await this.#openGroup(signal)
    return group.read(signal)
  }

  async #openGroup(signal: AbortSignal | undefined): Promise<LeaseGroup> {
    for (;;) {
      const isMine = this.#opened === undefined
      const opened = (this.#opened ??= this.#options.leases.openGroup(this.group, { signal }))
      try {
        return await opened
      } catch (error) {
        if (this.#opened === opened) this.#opened = undefined
        // Another call's failure, or its signal, is not this one's.
        if (isMine || signal?.aborted === true) throw error
      }
    }
  }

  async #estimateLeases(
    snapshot: LeaseGroupSnapshot,
    present: readonly FeedRange[],
    request: MeasureRequest,
  ): Promise<readonly LeaseEstimate[]> {
    const queue = new PQueue({ concurrency: this.#concurrency })
    const mode = this.#modeOf(snapshot)
    const work = snapshot.leases.map(async (lease) => {
      const parts = partsOf(lease, present, this.#options.feed)
      const measures = parts?.map((range) =>
        queue.add(() => this.#measure(lease, { ...request, mode, range })),
      )
      return { lease, measures: measures && (await Promise.all(measures)) }
    })
    // All, so that nothing is left running when one has failed.
    const settled = await Promise.allSettled(work)
    await queue.onIdle()
    const nowMs = this.#clock.wallMs()
    return settled.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return leaseEstimate(outcome.value, { snapshot, nowMs })
    })
  }

  /** Somebody deleted their leases. Rare, and so one after the other. */
  async #estimateMissing(
    snapshot: LeaseGroupSnapshot,
    present: readonly FeedRange[],
    request: MeasureRequest,
  ): Promise<readonly LeaseEstimate[]> {
    const { feed } = this.#options
    const mode = this.#modeOf(snapshot)
    const estimates: LeaseEstimate[] = []
    for (const missing of await this.#missingKeys(snapshot)) {
      const measures: RangeMeasure[] = []
      for (const range of present.flatMap((one) => commonKeys(one, missing.range) ?? [])) {
        const at = { range, lsn: missing.lsn, mode, signal: request.signal }
        const position = await feed.positionAt?.(at)
        const checkpoint = position ?? (await feed.resolveStart({ ...at, start: 'now' }))
        measures.push(await this.#measure({ checkpoint }, { ...request, mode, range }))
      }
      estimates.push(missingEstimate(missing, measures, this.#clock.wallMs()))
    }
    return estimates
  }

  /** Of leases that end with their process the feed may know of an earlier one. */
  #missingKeys({ leases }: LeaseGroupSnapshot): Promise<readonly MissingKeys[]> {
    const { feed, leases: store } = this.#options
    return missingKeys(this.group, leases, store.endsWithProcess === true ? undefined : feed)
  }

  #measure(
    { checkpoint: { continuation } }: Pick<Lease, 'checkpoint'>,
    request: Omit<RangeMeasureRequest, 'continuation'>,
  ): Promise<RangeMeasure> {
    const { feed, pendingDeletes } = this.#options
    return measureRange(feed, { ...request, continuation, pendingDeletes })
  }

  #modeOf({ leases }: LeaseGroupSnapshot): FeedMode {
    const continuations = leases.map(({ checkpoint: { continuation } }) => continuation)
    return this.#options.mode ?? feedModeOf(continuations) ?? 'latestVersion'
  }
}

interface MeasureRequest {
  readonly limit: number
  readonly signal: AbortSignal | undefined
}

/** Splits and merges are rare, so that more than a few of them during one reading are a defect. */
const MAX_READINGS = 10

/** Reads again when a range was split or merged between two steps of the reading. */
async function whileRangesChange<Result>(
  read: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  for (let reading = 1; ; reading += 1) {
    signal?.throwIfAborted()
    try {
      return await read()
    } catch (error) {
      if (errorCode(error) !== 'ERR_RANGE_GONE' || reading >= MAX_READINGS) throw error
    }
  }
}

/** The present ranges, as far as the lease covers them; undefined when its position says nothing in them. */
function partsOf<T extends DocumentBody>(
  { range }: Lease,
  present: readonly FeedRange[],
  { supports }: ChangeFeedSource<T>,
): readonly FeedRange[] | undefined {
  const isPresent = present.some((each) => rangeContains(each, range))
  if (!isPresent && !supports.childrenCarryParentChanges) return undefined
  return present.flatMap((each) => commonKeys(each, range) ?? [])
}

function wholeNumber(option: Readonly<Record<string, number>>): number {
  for (const [name, value] of Object.entries(option)) {
    if (Number.isSafeInteger(value) && value >= 1) return value
    throw new InvalidOptionError(`${name} must be a whole number from 1 on, got ${String(value)}`)
  }
  return 1
}
