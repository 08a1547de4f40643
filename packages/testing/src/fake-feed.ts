import assert from 'node:assert/strict'
import {
  HorizonPassedError,
  InvalidContinuationError,
  InvalidOptionError,
  RangeGoneError,
  continuationPosition,
  divideRange,
  effectivePartitionKey,
  encodeContinuation,
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
  type DivideRangeRequest,
  type FeedLag,
  type FeedLagRequest,
  type FeedMode,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedStartRequest,
  type FeedSupport,
  type FeedWaitRequest,
  type JoinPositionsRequest,
  type Lsn,
  type PositionAtRequest,
  type RangePosition,
} from '@tidemark/contracts'
import { DocumentStamp, LIVE_ROW, changeOfRow, evenRanges } from '@tidemark/contracts/internal'
import { FakeGroupPositions } from './fake-group-positions.ts'
import { FakeRange, middleOf, type FakeDocument, type FakeWaiter } from './fake-feed-range.ts'

export interface FakeFeedOptions {
  clock: Clock
  /** Number of pkranges at the start. @range 1 or more @default 4 */
  ranges?: number | undefined
  /** Whether readers are woken; without it they poll. @default true */
  waiting?: boolean | undefined
  /** Whether a child's feed carries its parent's changes. @default true */
  childrenCarryParentChanges?: boolean | undefined
  /** Whether positions can be made from LSNs, and lag can be measured; else it can only be read. @default true */
  measuring?: boolean | undefined
  /** Tells it from other feeds. @default 'fake-feed' */
  identity?: string | undefined
  /** Its name, for people. @default 'fake feed' */
  description?: string | undefined
  /** Called before each read of a page. May wait, and may throw: a fault. @default nothing */
  beforeRead?: ((range: FeedRange) => Promise<void> | void) | undefined
  /** Called after positions were joined, before the answer. May wait. @default nothing */
  afterJoin?: (() => Promise<void> | void) | undefined
}

type HeldRequest = Pick<FeedPageRequest, 'range' | 'continuation' | 'mode' | 'pendingDeletes'>

const PARTITION_KEY = partitionKeyDefinition('/key')
const STAMP = new DocumentStamp({ number: 1, rid: 'AAAAAAAAAAA=', selfLink: '' })

/**
 * A change feed in memory that keeps every change, for tests of readers: each document's key decides
 * its range, each append is one transaction with one LSN, and `append` hands back what it wrote. Ranges
 * can be split and merged at any time.
 */
export class FakeFeed implements ChangeFeedSource<FakeDocument> {
  readonly identity: string
  readonly description: string
  readonly supports: FeedSupport
  readonly waitForChanges?: (request: FeedWaitRequest) => Promise<boolean>
  readonly positionAt?: (request: PositionAtRequest) => Promise<FeedPosition>
  readonly measureLag?: (request: FeedLagRequest) => Promise<FeedLag>
  readonly positions: FakeGroupPositions = new FakeGroupPositions()
  readonly #clock: Clock
  readonly #beforeRead: ((range: FeedRange) => Promise<void> | void) | undefined
  readonly #afterJoin: (() => Promise<void> | void) | undefined
  readonly #perKey = new Map<string, number>()
  readonly #horizons: { readonly range: FeedRange; readonly lsn: Lsn }[] = []
  #ranges: FakeRange[]
  /** Ids of changes that were there and are not any more. */
  readonly overwritten: Set<string> = new Set()
  /** Pages read so far. */
  reads = 0
  /** Splits and merges so far. */
  reshapes = 0
  /** Requests to join positions so far. */
  joinRequests = 0

  constructor(options: FakeFeedOptions) {
    const { clock, ranges = 4, waiting = true, childrenCarryParentChanges = true } = options
    this.identity = options.identity ?? 'fake-feed'
    this.description = options.description ?? 'fake feed'
    this.supports = { waiting, childrenCarryParentChanges, cuttable: true, allVersions: true }
    this.#clock = clock
    this.#beforeRead = options.beforeRead
    this.#afterJoin = options.afterJoin
    this.#ranges = evenRanges(ranges, PARTITION_KEY).map((range) => new FakeRange(range))
    // Present iff supported, as the contract says.
    if (waiting) this.waitForChanges = (request) => this.#wait(request)
    if (options.measuring ?? true) {
      this.positionAt = async (request) => this.#positionAt(request)
      this.measureLag = async (request) => this.#measureLag(request)
    }
  }

  /** Every change so far, range after range. */
  get changes(): readonly Change<FakeDocument>[] {
    return this.#ranges.flatMap(({ entries }) => entries.map(({ change }) => change))
  }

  /** Every change so far in the present range of that index. */
  changesOf(range: number): readonly Change<FakeDocument>[] {
    return this.#ranges[range]?.entries.map(({ change }) => change) ?? []
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

  /**
   * A change that is not there any more, as when its document was written again: `append` what came in its place.
   * False when there is none of this id.
   */
  overwrite(id: string): boolean {
    const owner = this.#ranges.find(({ entries }) => entries.some(({ change }) => change.id === id))
    if (owner === undefined) return false
    const index = owner.entries.findIndex(({ change }) => change.id === id)
    owner.entries.splice(index, 1)
    this.overwritten.add(id)
    return true
  }

  /** The text of a change is no document any more, until the function that this returns is called. */
  damage(id: string): () => void {
    const owner = this.#ranges.find(({ entries }) => entries.some(({ change }) => change.id === id))
    assert(owner !== undefined, `no change ${id}`)
    const index = owner.entries.findIndex(({ change }) => change.id === id)
    const entry = owner.entries[index]!
    const { partitionKey, lsn: at } = entry.change
    const change = changeOf({ id, key: String(partitionKey), at, ts: 0, text: '{"id":' })
    owner.entries[index] = { ...entry, change }
    return () => {
      owner.entries[index] = entry
    }
  }

  /** From now on reads of this range answer Gone, and nothing comes in its place. */
  removeRange(range: FeedRange): void {
    const owner = this.#ranges.find((own) => rangesEqual(own.range, range))
    assert(owner !== undefined, `no range ${feedRangeId(range)}`)
    owner.gone = true
    owner.wakeAll()
  }

  /** Two ranges instead of one; false when it cannot be cut there. Parents' positions are valid on both. */
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

  /** One range instead of this one and the next in EPK order; false when it is the last. */
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

  async readRid(): Promise<string> {
    return this.identity
  }

  async readFeedRanges(): Promise<readonly FeedRange[]> {
    return this.ranges
  }

  async divideRange({ range, count }: DivideRangeRequest): Promise<readonly FeedRange[]> {
    return divideRange(range, count, PARTITION_KEY)
  }

  async resolveStart(request: FeedStartRequest): Promise<FeedPosition> {
    const { range, start, mode } = request
    const { lastLsn, entries } = this.#find(range)
    if (start === 'beginning') return this.#position(range, { at: 0, horizon: undefined, mode })
    if (start === 'now') {
      return this.#position(range, { at: lastLsn, horizon: this.#horizonOf(range), mode })
    }
    if ('continuation' in start) {
      const { lsn: at, purgeStamp: stamp } = this.#held(range, start.continuation, mode)
      const horizon = stamp === undefined ? undefined : lsn(stamp)
      return this.#position(range, { at, horizon, mode })
    }
    const second = Math.floor(start.getTime() / 1000)
    const first = entries.find(
      ({ change }) => change.kind === 'document' && change.committedAtMs >= second * 1_000,
    )
    const at = first === undefined ? lastLsn : first.change.lsn - 1
    return this.#position(range, { at, horizon: undefined, mode })
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<FakeDocument>> {
    const { range, mode } = request
    this.reads += 1
    await this.#beforeRead?.(range)
    request.signal?.throwIfAborted()
    const owner = this.#find(range)
    const { lastLsn } = owner
    const { held, horizon } = this.#heldInTime(request)
    const limit = (request.maxItemCount ?? -1) > 0 ? (request.maxItemCount ?? 100) : 100
    const { changes, isWhole } = owner.after(held.lsn, { range, limit })
    const end = changes.at(-1)?.lsn ?? Math.max(held.lsn, lastLsn)
    return {
      ...this.#position(range, { at: end, horizon, mode }),
      changes,
      caughtUp: isWhole && end >= lastLsn,
    }
  }

  async joinPositions({
    positions,
    mode,
  }: JoinPositionsRequest): Promise<FeedPosition | undefined> {
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

  #positionAt({ range, lsn: at, mode, page }: PositionAtRequest): FeedPosition {
    if (!Number.isSafeInteger(at) || at < 0) throw new InvalidOptionError(`no LSN: ${String(at)}`)
    const { lastLsn } = this.#find(range)
    if (at > lastLsn) {
      throw new InvalidContinuationError(`LSN ${at} is above the newest, ${lastLsn}`)
    }
    // Told of every purge above it: which of them are known the number does not say.
    const known = page === undefined ? undefined : this.#held(range, page, mode).purgeStamp
    return this.#position(range, { at, horizon: lsn(known ?? 0), mode })
  }

  #measureLag({ limit = 1_000, ...request }: FeedLagRequest): FeedLag {
    const { range } = request
    const owner = this.#find(range)
    const { held } = this.#heldInTime(request)
    const { changes, isWhole } = owner.after(held.lsn, { range, limit })
    const [oldest] = changes
    return {
      newestLsn: lsn(owner.lastLsn),
      remainingChanges: changes.length,
      isExact: isWhole,
      oldestChangeMs: oldest?.kind === 'document' ? oldest.committedAtMs : undefined,
    }
  }

  async #wait({ range, continuation, mode, timeoutMs, signal }: FeedWaitRequest): Promise<boolean> {
    const owner = this.#find(range)
    const { lsn: afterLsn } = this.#held(range, continuation, mode)
    const isNews = owner.after(afterLsn, { range, limit: 1 }).changes.length > 0
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

  /** @throws ERR_HORIZON_PASSED when something was purged that the position has not seen */
  #heldInTime(request: HeldRequest): { held: RangePosition; horizon: Lsn } {
    const { range, continuation, mode = 'latestVersion', pendingDeletes = true } = request
    const held = this.#held(range, continuation, mode)
    const horizon = this.#horizonOf(range)
    // A position that nothing was delivered from cannot have missed anything.
    const canMiss = pendingDeletes || mode === 'allVersions'
    if (
      canMiss &&
      held.purgeStamp !== undefined &&
      held.purgeStamp < horizon &&
      held.lsn < horizon
    ) {
      throw new HorizonPassedError({ range, lsn: held.lsn, horizon })
    }
    return { held, horizon }
  }

  #held(range: FeedRange, continuation: string, mode: FeedMode = 'latestVersion'): RangePosition {
    return continuationPosition(continuation, { collectionRid: this.identity, mode, range })
  }

  #change(key: string, n: number, at: number): Change<FakeDocument> {
    const id = `${key}-${n}`
    const ts = Math.floor(this.#clock.wallMs() / 1000)
    return changeOf({ id, key, at, ts, text: JSON.stringify({ id, key, n }) })
  }
}

/** As a store makes them. */
function changeOf({
  id,
  key,
  at,
  ts,
  text,
}: {
  readonly id: string
  readonly key: string
  readonly at: number
  readonly ts: number
  readonly text: string
}): Change<FakeDocument> {
  const partitionKey = JSON.stringify([key])
  const rid = 'rrrrrrrrrrrr'
  return changeOfRow(STAMP, [at, LIVE_ROW, text, 0, ts, partitionKey, id, rid, null, null, null])
}
