import assert from 'node:assert/strict'
import {
  RangeGoneError,
  continuationPosition,
  effectivePartitionKey,
  encodeContinuation,
  evenRanges,
  feedRangeId,
  lsn,
  partitionKeyDefinition,
  rangeContainsEpk,
  rangesEqual,
  type Change,
  type ChangeFeedSource,
  type Continuation,
  type DocumentBody,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedSupport,
  type FeedWaitRequest,
  type StartPosition,
  type Clock,
} from '@tidemark/contracts'

/** What the fake feed carries: a key and a running number within it. */
export interface FakeDocument extends DocumentBody {
  readonly key: string
  readonly n: number
}

export interface FakeFeedOptions {
  clock: Clock
  /** @default 4 */
  ranges?: number | undefined
  /** Whether readers are woken; without it they poll. @default true */
  waiting?: boolean | undefined
  /** @default 'fake-feed' */
  identity?: string | undefined
  /** Called before each read of a page. May wait, and may throw: a fault. */
  beforeRead?: ((range: FeedRange) => Promise<void> | void) | undefined
}

const PARTITION_KEY = partitionKeyDefinition('/key')

interface Waiter {
  readonly wake: (found: boolean) => void
}

class FakeRange {
  readonly range: FeedRange
  readonly changes: Change<FakeDocument>[] = []
  readonly waiters = new Set<Waiter>()
  lastLsn = 0
  gone = false

  constructor(range: FeedRange) {
    this.range = range
  }
}

/**
 * A change feed in memory that keeps every change, for tests of readers: each document's key decides
 * its range, each append is one transaction with one LSN, and `append` hands back what it wrote.
 */
export class FakeFeed implements ChangeFeedSource<FakeDocument> {
  readonly identity: string
  readonly description: string = 'fake feed'
  readonly supports: FeedSupport
  readonly waitForChanges?: (request: FeedWaitRequest) => Promise<boolean>
  readonly #clock: Clock
  readonly #beforeRead: ((range: FeedRange) => Promise<void> | void) | undefined
  readonly #ranges: FakeRange[]
  readonly #perKey = new Map<string, number>()
  /** Pages read so far. */
  reads = 0

  constructor({ clock, ranges = 4, waiting = true, identity, beforeRead }: FakeFeedOptions) {
    this.identity = identity ?? 'fake-feed'
    this.supports = { waiting, childrenCarryParentChanges: true }
    this.#clock = clock
    this.#beforeRead = beforeRead
    this.#ranges = evenRanges(ranges, PARTITION_KEY).map((range) => new FakeRange(range))
    // Present iff supported, as the contract says.
    if (waiting) this.waitForChanges = (request) => this.#wait(request)
  }

  /** Every change so far, range after range. */
  get changes(): readonly Change<FakeDocument>[] {
    return this.#ranges.flatMap(({ changes }) => changes)
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
      owner.changes.push(this.#change(key, n, owner.lastLsn))
    }
    for (const waiter of owner.waiters) waiter.wake(true)
    return numbers
  }

  /** From now on reads of this range answer Gone. */
  removeRange(range: FeedRange): void {
    const owner = this.#find(range)
    owner.gone = true
    for (const waiter of owner.waiters) waiter.wake(true)
  }

  async readFeedRanges(): Promise<readonly FeedRange[]> {
    return this.ranges
  }

  async resolveStart(request: {
    readonly range: FeedRange
    readonly start: StartPosition
  }): Promise<FeedPosition> {
    const { lastLsn, changes } = this.#find(request.range)
    switch (request.start.kind) {
      case 'beginning':
        return this.#position(request.range, 0)
      case 'now':
        return this.#position(request.range, lastLsn)
      case 'time': {
        const { timeMs } = request.start
        const second = Math.floor(timeMs / 1000)
        const first = changes.find(
          (change) => change.kind === 'document' && change.document._ts >= second,
        )
        return this.#position(request.range, first === undefined ? lastLsn : first.lsn - 1)
      }
      case 'continuation':
        return this.#position(request.range, this.#lsnOf(request.range, request.start.continuation))
    }
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<FakeDocument>> {
    this.reads += 1
    await this.#beforeRead?.(request.range)
    request.signal?.throwIfAborted()
    const { changes, lastLsn, gone } = this.#find(request.range)
    if (gone) throw new RangeGoneError(feedRangeId(request.range), [])
    const after = this.#lsnOf(request.range, request.continuation)
    const limit = (request.maxItemCount ?? -1) > 0 ? (request.maxItemCount ?? 100) : 100
    const page: Change<FakeDocument>[] = []
    for (let index = firstAfter(changes, after); index < changes.length; index += 1) {
      const change = changes[index]!
      // One transaction stays on one page (CF-7).
      if (page.length >= limit && page.at(-1)?.lsn !== change.lsn) break
      page.push(change)
    }
    const end = page.at(-1)?.lsn ?? lastLsn
    return {
      ...this.#position(request.range, end),
      changes: page,
      caughtUp: end >= lastLsn,
    }
  }

  async #wait({ range, continuation, timeoutMs, signal }: FeedWaitRequest): Promise<boolean> {
    const owner = this.#find(range)
    if (owner.gone || owner.lastLsn > this.#lsnOf(range, continuation)) return true
    const woken = new AbortController()
    let found = false
    const waiter: Waiter = {
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

  #find(range: FeedRange): FakeRange {
    const found = this.#ranges.find((own) => rangesEqual(own.range, range))
    if (found === undefined) throw new RangeGoneError(feedRangeId(range), [])
    return found
  }

  #position(range: FeedRange, at: number): FeedPosition {
    const continuation: Continuation = encodeContinuation({
      collectionRid: this.identity,
      mode: 'latestVersion',
      positions: [{ range, epoch: 1, lsn: lsn(at), horizon: lsn(0) }],
    })
    return { continuation, lsn: lsn(at) }
  }

  #lsnOf(range: FeedRange, continuation: string): number {
    const expected = { collectionRid: this.identity, mode: 'latestVersion', range } as const
    return continuationPosition(continuation, expected).lsn
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

function firstAfter(changes: readonly Change<FakeDocument>[], after: number): number {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (changes[middle]!.lsn <= after) low = middle + 1
    else high = middle
  }
  return low
}
