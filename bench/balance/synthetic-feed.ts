import {
  continuationPosition,
  encodeContinuation,
  feedRangeId,
  lsn,
  partitionKeyDefinition,
  type Change,
  type ChangeFeedSource,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedSupport,
  type FeedWaitRequest,
  type StartPosition,
} from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import { machineMs } from '../measuring/stopwatch.ts'

const RID = 'c3ludGhldGlj'
const DEFAULT_PAGE = 100

/** A change of the synthetic feed; the time is of the machine's monotonic clock. */
export interface Tick {
  readonly id: string
  readonly writtenAtMs: number
}

/**
 * A feed in memory with any number of ranges, so that what is measured is leases and hosts, not a
 * store. A change is its number in its range and the time it was made.
 */
export class SyntheticFeed implements ChangeFeedSource<Tick> {
  readonly identity = 'synthetic'
  readonly description = 'synthetic feed'
  readonly supports: FeedSupport = {
    waiting: true,
    childrenCarryParentChanges: true,
    cuttable: true,
  }
  readonly #ranges: readonly FeedRange[]
  /** Times of the changes of each range; the LSN is the index + 1. */
  readonly #changes = new Map<string, number[]>()
  readonly #waiters = new Map<string, Set<() => void>>()

  constructor(ranges: number) {
    this.#ranges = evenRanges(ranges, partitionKeyDefinition('/id'))
    for (const range of this.#ranges) {
      this.#changes.set(feedRangeId(range), [])
      this.#waiters.set(feedRangeId(range), new Set())
    }
  }

  get rangeIds(): readonly string[] {
    return [...this.#changes.keys()]
  }

  /** Highest LSN of a range. */
  lastLsn(rangeId: string): number {
    return this.#changesOf(rangeId).length
  }

  append(rangeId: string): void {
    this.#changesOf(rangeId).push(machineMs())
    for (const wake of this.#waiters.get(rangeId) ?? []) wake()
  }

  readFeedRanges(): Promise<readonly FeedRange[]> {
    return Promise.resolve(this.#ranges)
  }

  resolveStart({
    range,
    start,
  }: {
    readonly range: FeedRange
    readonly start: StartPosition
  }): Promise<FeedPosition> {
    if (start === 'now') {
      return Promise.resolve(this.#position(range, this.lastLsn(feedRangeId(range))))
    }
    const isAfter = start !== 'beginning' && 'continuation' in start
    const at = isAfter ? this.#lsnOf(range, start.continuation) : 0
    return Promise.resolve(this.#position(range, at))
  }

  readPage({
    range,
    continuation,
    maxItemCount = DEFAULT_PAGE,
  }: FeedPageRequest): Promise<FeedPage<Tick>> {
    const from = this.#lsnOf(range, continuation)
    const all = this.#changesOf(feedRangeId(range))
    const limit = maxItemCount === -1 ? DEFAULT_PAGE : maxItemCount
    const changes = all
      .slice(from, from + limit)
      .map((writtenAtMs, index) => this.#change(from + index + 1, writtenAtMs))
    const end = from + changes.length
    return Promise.resolve({ ...this.#position(range, end), changes, caughtUp: end === all.length })
  }

  waitForChanges({ range, continuation, timeoutMs, signal }: FeedWaitRequest): Promise<boolean> {
    const rangeId = feedRangeId(range)
    const waiters = this.#waiters.get(rangeId)
    if (this.lastLsn(rangeId) > this.#lsnOf(range, continuation)) return Promise.resolve(true)
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
        waiters?.delete(wake)
        settle()
      }
      const wake = (): void => finish(() => resolve(true))
      // An AbortSignal's reason is whatever its owner gave.
      const abort = (): void => finish(() => reject(signal.reason as Error))
      const timer = setTimeout(() => finish(() => resolve(false)), timeoutMs)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort)
      waiters?.add(wake)
    })
  }

  #change(at: number, writtenAtMs: number): Change<Tick> {
    const id = String(at)
    const system = { _rid: RID, _self: '', _etag: `"${at}"`, _ts: 0, _lsn: at }
    return {
      kind: 'document',
      id,
      partitionKey: id,
      lsn: lsn(at),
      committedAtMs: writtenAtMs,
      document: { id, writtenAtMs, ...system },
    }
  }

  #position(range: FeedRange, at: number): FeedPosition {
    const positions = [{ range, epoch: 0, lsn: lsn(at), purgeStamp: at > 0 ? 0 : undefined }]
    return {
      continuation: encodeContinuation({ collectionRid: RID, mode: 'latestVersion', positions }),
      lsn: lsn(at),
    }
  }

  #lsnOf(range: FeedRange, continuation: string): number {
    return continuationPosition(continuation, { collectionRid: RID, mode: 'latestVersion', range })
      .lsn
  }

  #changesOf(rangeId: string): number[] {
    const changes = this.#changes.get(rangeId)
    if (changes === undefined) throw new Error(`the synthetic feed has no range ${rangeId}`)
    return changes
  }
}
