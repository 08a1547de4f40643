import assert from 'node:assert/strict'
import {
  HorizonPassedError,
  RangeGoneError,
  continuationPosition,
  effectivePartitionKey,
  encodeContinuation,
  evenRanges,
  feedRangeId,
  lsn,
  partitionKeyDefinition,
  rangeContains,
  rangeContainsEpk,
  rangesEqual,
  rangesOverlap,
  type Change,
  type ChangeFeedSource,
  type Clock,
  type Continuation,
  type FeedMode,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedSupport,
  type FeedWaitRequest,
  type HeldPosition,
  type Lsn,
  type RangePosition,
  type StartPosition,
} from '@tidemark/contracts'
import { FakeGroupPositions } from './fake-group-positions.ts'
import { FakeRange, middleOf, type FakeDocument, type FakeWaiter } from './fake-feed-range.ts'

export interface FakeFeedOptions {
  clock: Clock
  /** @default 4 */
  ranges?: number | undefined
  /** Whether readers are woken; without it they poll. @default true */
  waiting?: boolean | undefined
  /** Whether a child's feed carries its parent's changes. @default true */
  childrenCarryParentChanges?: boolean | undefined
  /** @default 'fake-feed' */
  identity?: string | undefined
  /** Called before each read of a page. May wait, and may throw: a fault. */
  beforeRead?: ((range: FeedRange) => Promise<void> | void) | undefined
  /** Called after positions were joined, before the answer. May wait. */
  afterJoin?: (() => Promise<void> | void) | undefined
}

const PARTITION_KEY = partitionKeyDefinition('/key')

/**
 * A change feed in memory that keeps every change, for tests of readers: each document's key decides
 * its range, each append is one transaction with one LSN, and `append` hands back what it wrote. Ranges
 * can be split and merged at any time.
 */
export class FakeFeed implements ChangeFeedSource<FakeDocument> {
  readonly identity: string
  readonly description: string = 'fake feed'
  readonly supports: FeedSupport
  readonly waitForChanges?: (request: FeedWaitRequest) => Promise<boolean>
  readonly positions: FakeGroupPositions = new FakeGroupPositions()
  readonly #clock: Clock
  readonly #beforeRead: ((range: FeedRange) => Promise<void> | void) | undefined
  readonly #afterJoin: (() => Promise<void> | void) | undefined
  readonly #perKey = new Map<string, number>()
  readonly #horizons: { readonly range: FeedRange; readonly lsn: Lsn }[] = []
  #ranges: FakeRange[]
  /** Pages read so far. */
  reads = 0
  /** Splits and merges so far. */
  reshapes = 0
  /** Requests to join positions so far. */
  joinRequests = 0

  constructor(options: FakeFeedOptions) {
    const { clock, ranges = 4, waiting = true, childrenCarryParentChanges = true } = options
    this.identity = options.identity ?? 'fake-feed'
    this.supports = { waiting, childrenCarryParentChanges }
    this.#clock = clock
    this.#beforeRead = options.beforeRead
    this.#afterJoin = options.afterJoin
    this.#ranges = evenRanges(ranges, PARTITION_KEY).map((range) => new FakeRange(range))
    // Present iff supported, as the contract says.
    if (waiting) this.waitForChanges = (request) => this.#wait(request)
  }

  /** Every change so far, range after range. */
  get changes(): readonly Change<FakeDocument>[] {
    return this.#ranges.flatMap(({ entries }) => entries.map(({ change }) => change))
  }

  get ranges(): readonly FeedRange[] {
    return this.#ranges.map(({ range }) => range)
  }

  /** One transaction of `count` changes of one key. Returns the numbers that they got within the key. */
  append(key: string, count = 1): readonly number[] {
    const epk = effectivePartitionKey([key], PARTITION_KEY)
    const owner = this.#ranges.find(({ range }) => rangeContainsEpk(range, epk))
    assert(owner !== undefined, `no range holds ${key}`)
    owner.lastLsn += 1
    const numbers: number[] = []
    for (let index = 0; index < count; index += 1) {
      const n = (this.#perKey.get(key) ?? 0) + 1
      this.#perKey.set(key, n)
      numbers.push(n)
      owner.entries.push({ epk, change: this.#change(key, n, owner.lastLsn) })
    }
    for (const { range, wake } of owner.waiters) if (rangeContainsEpk(range, epk)) wake(true)
    return numbers
  }

  /** From now on reads of this range answer Gone, and nothing comes in its place. */
  removeRange(range: FeedRange): void {
    const owner = this.#ranges.find((own) => rangesEqual(own.range, range))
    assert(owner !== undefined, `no range ${feedRangeId(range)}`)
    owner.gone = true
    owner.wakeAll()
  }

  /** Two ranges in the place of one; false when it cannot be cut there. Parents' positions are valid on both. */
  split(range: FeedRange, at: string | undefined = middleOf(range)): boolean {
    const index = this.#ranges.findIndex((own) => rangesEqual(own.range, range))
    const parent = this.#ranges[index]
    if (parent === undefined || at === undefined || !(range.minInclusive < at)) return false
    if (at >= range.maxExclusive) return false
    const { lastLsn, firstOwnLsn } = parent
    const children = [
      { minInclusive: range.minInclusive, maxExclusive: at },
      { minInclusive: at, maxExclusive: range.maxExclusive },
    ].map((child) => {
      const entries = parent.entries.filter(({ epk }) => rangeContainsEpk(child, epk))
      return new FakeRange(child, { entries, lastLsn, firstOwnLsn })
    })
    this.#reshape(index, [parent], children)
    return true
  }

  /** One range in the place of this one and the next in EPK order; false when it is the last. */
  merge(range: FeedRange): boolean {
    const index = this.#ranges.findIndex((own) => rangesEqual(own.range, range))
    const left = this.#ranges[index]
    const right = this.#ranges[index + 1]
    if (left === undefined || right === undefined) return false
    const firstOwnLsn = Math.max(left.lastLsn, right.lastLsn) + 1
    const entries = [...left.entries, ...right.entries].sort((a, b) => a.change.lsn - b.change.lsn)
    const merged = new FakeRange(
      { minInclusive: left.range.minInclusive, maxExclusive: right.range.maxExclusive },
      { entries, lastLsn: firstOwnLsn, firstOwnLsn },
    )
    this.#reshape(index, [left, right], [merged])
    return true
  }

  /** Whoever has not read this range to its present end is too late from now on (TTL-15). */
  passHorizon(range: FeedRange): void {
    const owner = this.#find(range)
    this.#horizons.push({ range, lsn: lsn(owner.lastLsn) })
    owner.wakeAll()
  }

  async readFeedRanges(): Promise<readonly FeedRange[]> {
    return this.ranges
  }

  async resolveStart(request: {
    readonly range: FeedRange
    readonly start: StartPosition
    readonly mode?: FeedMode | undefined
  }): Promise<FeedPosition> {
    const { range, start, mode } = request
    const { lastLsn, entries } = this.#find(range)
    switch (start.kind) {
      case 'beginning':
        return this.#position(range, { at: 0, horizon: undefined, mode })
      case 'now':
        return this.#position(range, { at: lastLsn, horizon: this.#horizonOf(range), mode })
      case 'time': {
        const second = Math.floor(start.timeMs / 1000)
        const first = entries.find(
          ({ change }) => change.kind === 'document' && change.document._ts >= second,
        )
        const at = first === undefined ? lastLsn : first.change.lsn - 1
        return this.#position(range, { at, horizon: undefined, mode })
      }
      case 'continuation': {
        const { lsn: at, purgeStamp: stamp } = this.#held(range, start.continuation, mode)
        const horizon = stamp === undefined ? undefined : lsn(stamp)
        return this.#position(range, { at, horizon, mode })
      }
    }
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<FakeDocument>> {
    const { range, mode } = request
    this.reads += 1
    await this.#beforeRead?.(range)
    request.signal?.throwIfAborted()
    const { entries, lastLsn } = this.#find(range)
    const held = this.#held(range, request.continuation, mode)
    const horizon = this.#horizonOf(range)
    // A position that nothing was delivered from cannot have missed anything.
    if (held.purgeStamp !== undefined && held.purgeStamp < horizon && held.lsn < horizon) {
      throw new HorizonPassedError({ range, lsn: held.lsn, horizon })
    }
    const limit = (request.maxItemCount ?? -1) > 0 ? (request.maxItemCount ?? 100) : 100
    const page: Change<FakeDocument>[] = []
    let isWhole = true
    for (let index = firstAfter(entries, held.lsn); index < entries.length; index += 1) {
      const { epk, change } = entries[index]!
      if (!rangeContainsEpk(range, epk)) continue
      // One transaction stays on one page (CF-7).
      if (page.length >= limit && page.at(-1)?.lsn !== change.lsn) {
        isWhole = false
        break
      }
      page.push(change)
    }
    const end = page.at(-1)?.lsn ?? Math.max(held.lsn, lastLsn)
    return {
      ...this.#position(range, { at: end, horizon, mode }),
      changes: page,
      caughtUp: isWhole && end >= lastLsn,
    }
  }

  async joinPositions({
    positions,
    mode,
  }: {
    readonly positions: readonly HeldPosition[]
    readonly mode?: FeedMode | undefined
  }): Promise<FeedPosition | undefined> {
    this.joinRequests += 1
    const minInclusive = positions[0]?.range.minInclusive ?? ''
    const maxExclusive = positions.at(-1)?.range.maxExclusive ?? ''
    const range = { minInclusive, maxExclusive }
    const owner = this.#ranges.find((own) => rangeContains(own.range, range))
    const held = positions.map((one) => this.#held(one.range, one.continuation, mode))
    const [first] = held
    if (owner === undefined || first === undefined) return undefined
    const isSame = held.every(({ lsn: at }) => at === first.lsn)
    if (!isSame || first.lsn < owner.firstOwnLsn) return undefined
    const horizon = lsn(Math.max(...held.map((one) => one.purgeStamp ?? 0)))
    await this.#afterJoin?.()
    return this.#position(range, { at: first.lsn, horizon, mode })
  }

  async #wait({ range, continuation, mode, timeoutMs, signal }: FeedWaitRequest): Promise<boolean> {
    const owner = this.#find(range)
    const after = this.#held(range, continuation, mode).lsn
    const isNews = owner.entries
      .slice(firstAfter(owner.entries, after))
      .some(({ epk }) => rangeContainsEpk(range, epk))
    if (isNews) return true
    const woken = new AbortController()
    let found = false
    const waiter: FakeWaiter = {
      range,
      wake: (value) => {
        found = value
        woken.abort()
      },
    }
    owner.waiters.add(waiter)
    try {
      await this.#clock.sleep(timeoutMs, AbortSignal.any([signal, woken.signal]))
      return false
    } catch {
      signal.throwIfAborted()
      return found
    } finally {
      owner.waiters.delete(waiter)
    }
  }

  #reshape(index: number, old: readonly FakeRange[], next: readonly FakeRange[]): void {
    this.#ranges.splice(index, old.length, ...next)
    this.reshapes += 1
    for (const range of old) range.wakeAll()
  }

  /** The present range that the given one lies in. */
  #find(range: FeedRange): FakeRange {
    const found = this.#ranges.find((own) => rangeContains(own.range, range))
    if (found?.gone === true) throw new RangeGoneError(feedRangeId(range), [])
    if (found !== undefined) return found
    const successors = this.ranges.filter((own) => rangesOverlap(own, range))
    throw new RangeGoneError(feedRangeId(range), successors)
  }

  #horizonOf(range: FeedRange): Lsn {
    const passed = this.#horizons.filter((one) => rangesOverlap(one.range, range))
    return lsn(Math.max(0, ...passed.map((one) => one.lsn)))
  }

  #position(
    range: FeedRange,
    {
      at,
      horizon,
      mode = 'latestVersion',
    }: { at: number; horizon: Lsn | undefined; mode?: FeedMode | undefined },
  ): FeedPosition {
    const { minInclusive, maxExclusive } = range
    const continuation: Continuation = encodeContinuation({
      collectionRid: this.identity,
      mode,
      positions: [
        { range: { minInclusive, maxExclusive }, epoch: 1, lsn: lsn(at), purgeStamp: horizon },
      ],
    })
    return { continuation, lsn: lsn(at) }
  }

  #held(range: FeedRange, continuation: string, mode: FeedMode = 'latestVersion'): RangePosition {
    return continuationPosition(continuation, { collectionRid: this.identity, mode, range })
  }

  #change(key: string, n: number, at: number): Change<FakeDocument> {
    const document = {
      id: `${key}-${n}`,
      key,
      n,
      _rid: '',
      _self: '',
      _etag: `"${n}"`,
      _ts: Math.floor(this.#clock.wallMs() / 1000),
      _lsn: at,
    }
    return { kind: 'document', id: document.id, partitionKey: key, lsn: lsn(at), document }
  }
}

function firstAfter(
  entries: readonly { readonly change: Change<FakeDocument> }[],
  after: number,
): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (entries[middle]!.change.lsn <= after) low = middle + 1
    else high = middle
  }
  return low
}
