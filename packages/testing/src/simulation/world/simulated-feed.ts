import {
  InvalidContinuationError,
  RangeGoneError,
  feedRangeId,
  lsn,
  parseFeedRangeId,
  rangeContains,
  rangeContainsEpk,
  rangesEqual,
  rangesOverlap,
  type Change,
  type Continuation,
  type DocumentBody,
  type FeedPage,
  type FeedPosition,
  type FeedRange,
  type HeldPosition,
  type StartPosition,
} from '@tidemark/contracts'

/** One change of the simulated feed: the `n`th of its key. */
export interface SimulatedChange<T extends DocumentBody = DocumentBody> {
  readonly key: string
  readonly epk: string
  /** Of the key, from 1. */
  readonly n: number
  readonly change: Change<T>
}

interface Part<T extends DocumentBody> {
  readonly range: FeedRange
  /** In LSN order, from before it was split or merged too. */
  readonly entries: SimulatedChange<T>[]
  readonly waiters: Set<Waiter>
  lastLsn: number
  /** Below it equal LSNs of merged parts name different moments. */
  readonly firstOwnLsn: number
}

interface Waiter {
  readonly range: FeedRange
  readonly wake: () => void
}

/** EPKs are four hexadecimal digits here, below this. */
const EPK_END = 0xff00

export interface AppendedDocument<T extends DocumentBody> {
  readonly key: string
  readonly document: T
}

/**
 * The monitored collection, as a feed that can be split and merged at any time. Made for speed; what it answers is
 * what the contract of feeds asks for, without horizons.
 */
export class SimulatedFeed<T extends DocumentBody = DocumentBody> {
  readonly identity: string = 'simulated-feed'
  readonly #perKey = new Map<string, number>()
  /** By partition key, LSN and id: also of copies. */
  readonly #byChange = new Map<string, SimulatedChange<T>>()
  #parts: Part<T>[]
  /** In the order of their commits, each once. */
  readonly changes: SimulatedChange<T>[] = []
  /** Pages read. */
  reads = 0

  constructor(ranges: number) {
    const bounds = Array.from({ length: ranges - 1 }, (_, index) =>
      epkText(Math.floor((EPK_END * (index + 1)) / ranges)),
    )
    const edges = ['', ...bounds, 'FF']
    this.#parts = bounds.concat('FF').map((maxExclusive, index) => ({
      range: { minInclusive: edges[index] ?? '', maxExclusive },
      entries: [],
      waiters: new Set(),
      lastLsn: 0,
      firstOwnLsn: 0,
    }))
  }

  get ranges(): readonly FeedRange[] {
    return this.#parts.map(({ range }) => range)
  }

  /** LSN of the newest change of these keys; undefined when no present range holds all of them. */
  newestLsn(range: FeedRange): number | undefined {
    const part = this.#parts.find((own) => rangeContains(own.range, range))
    if (part === undefined) return undefined
    return part.entries.findLast(({ epk }) => rangeContainsEpk(range, epk))?.change.lsn ?? 0
  }

  /** One transaction: changes of keys with one EPK. */
  append(documents: readonly AppendedDocument<T>[]): void {
    const [first] = documents
    if (first === undefined) return
    const epk = epkOf(first.key)
    const part = this.#parts.find(({ range }) => rangeContainsEpk(range, epk))
    if (part === undefined) throw new Error(`no range holds ${epk}`)
    part.lastLsn += 1
    for (const { key, document } of documents) {
      const n = (this.#perKey.get(key) ?? 0) + 1
      this.#perKey.set(key, n)
      const entry = { key, epk, n, change: changeOf(key, document, part.lastLsn) }
      part.entries.push(entry)
      this.changes.push(entry)
      this.#byChange.set(changeKey(entry.change), entry)
    }
    for (const { range, wake } of part.waiters) if (rangeContainsEpk(range, epk)) wake()
  }

  /** What the feed knows of a change that it delivered. */
  entryOf(change: Change<T>): SimulatedChange<T> {
    const entry = this.#byChange.get(changeKey(change))
    if (entry === undefined) throw new Error(`change ${change.id} is not of this feed`)
    return entry
  }

  /** Two ranges instead of one; false when it is too small. */
  split(range: FeedRange): boolean {
    const index = this.#parts.findIndex((part) => rangesEqual(part.range, range))
    const parent = this.#parts[index]
    const at = middleOf(range)
    if (parent === undefined || at === undefined) return false
    const { lastLsn, firstOwnLsn } = parent
    const children = [
      { minInclusive: range.minInclusive, maxExclusive: at },
      { minInclusive: at, maxExclusive: range.maxExclusive },
    ].map((child) => ({
      range: child,
      entries: parent.entries.filter(({ epk }) => rangeContainsEpk(child, epk)),
      waiters: new Set<Waiter>(),
      lastLsn,
      firstOwnLsn,
    }))
    this.#reshape(index, [parent], children)
    return true
  }

  /** One range instead of this one and the next; false when it is the last. */
  merge(range: FeedRange): boolean {
    const index = this.#parts.findIndex((part) => rangesEqual(part.range, range))
    const left = this.#parts[index]
    const right = this.#parts[index + 1]
    if (left === undefined || right === undefined) return false
    const firstOwnLsn = Math.max(left.lastLsn, right.lastLsn) + 1
    const merged = {
      range: {
        minInclusive: left.range.minInclusive,
        maxExclusive: right.range.maxExclusive,
      },
      entries: [...left.entries, ...right.entries].sort((a, b) => a.change.lsn - b.change.lsn),
      waiters: new Set<Waiter>(),
      lastLsn: firstOwnLsn,
      firstOwnLsn,
    }
    this.#reshape(index, [left, right], [merged])
    return true
  }

  start(range: FeedRange, start: StartPosition): FeedPosition {
    const { lastLsn } = this.#find(range)
    if (start === 'beginning') return position(range, 0)
    if (start !== 'now' && 'continuation' in start) {
      return position(range, heldLsn(range, start.continuation))
    }
    return position(range, lastLsn)
  }

  page(range: FeedRange, continuation: string, maxItemCount: number | undefined): FeedPage<T> {
    this.reads += 1
    const { entries, lastLsn } = this.#find(range)
    const after = heldLsn(range, continuation)
    const limit = maxItemCount === undefined || maxItemCount <= 0 ? 100 : maxItemCount
    const changes: Change<T>[] = []
    let isWhole = true
    for (let index = firstAfter(entries, after); index < entries.length; index += 1) {
      const { epk, change } = entries[index]!
      if (!rangeContainsEpk(range, epk)) continue
      const last = changes.at(-1)
      // One transaction stays on one page (CF-7).
      if (last !== undefined && changes.length >= limit && last.lsn !== change.lsn) {
        isWhole = false
        break
      }
      changes.push(change)
    }
    const end = changes.at(-1)?.lsn ?? Math.max(after, lastLsn)
    return { ...position(range, end), changes, caughtUp: isWhole && end >= lastLsn }
  }

  /** A position behind everything up to `at`. */
  positionAt(range: FeedRange, at: number): FeedPosition {
    this.#find(range)
    return position(range, at)
  }

  /** The same, whether or not such a range is there at present. */
  continuationAt(range: FeedRange, at: number): Continuation {
    return position(range, at).continuation
  }

  join(positions: readonly HeldPosition[]): FeedPosition | undefined {
    const [first] = positions
    const range = {
      minInclusive: first?.range.minInclusive ?? '',
      maxExclusive: positions.at(-1)?.range.maxExclusive ?? '',
    }
    const part = this.#parts.find((own) => rangeContains(own.range, range))
    const held = positions.map((one) => heldLsn(one.range, one.continuation))
    const at = held[0]
    if (part === undefined || at === undefined || at < part.firstOwnLsn) return undefined
    return held.every((one) => one === at) ? position(range, at) : undefined
  }

  /** Calls `wake` at once, or when something after the position may be there. Returns how to stop that. */
  wait(range: FeedRange, continuation: string, wake: () => void): () => void {
    const part = this.#find(range)
    const { entries, waiters } = part
    for (let index = firstAfter(entries, heldLsn(range, continuation)); ; index += 1) {
      const entry = entries[index]
      if (entry === undefined) break
      if (!rangeContainsEpk(range, entry.epk)) continue
      wake()
      return () => {}
    }
    const waiter = {
      range,
      wake: () => {
        waiters.delete(waiter)
        wake()
      },
    }
    waiters.add(waiter)
    return () => void waiters.delete(waiter)
  }

  #reshape(index: number, old: readonly Part<T>[], next: readonly Part<T>[]): void {
    this.#parts.splice(index, old.length, ...next)
    for (const { waiters } of old) for (const { wake } of waiters) wake()
  }

  #find(range: FeedRange): Part<T> {
    const found = this.#parts.find((part) => rangeContains(part.range, range))
    if (found !== undefined) return found
    const successors = this.ranges.filter((own) => rangesOverlap(own, range))
    throw new RangeGoneError(feedRangeId(range), successors)
  }
}

/** The same for the same key, anywhere in the key space. */
export function epkOf(key: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0
  return epkText((hash >>> 8) % EPK_END)
}

function changeKey({ partitionKey, lsn: at, id }: Change): string {
  return `${String(partitionKey)} ${at} ${id}`
}

function epkText(epk: number): string {
  return epk.toString(16).toUpperCase().padStart(4, '0')
}

function middleOf({ minInclusive, maxExclusive }: FeedRange): string | undefined {
  const low = minInclusive === '' ? 0 : Number.parseInt(minInclusive, 16)
  const high = maxExclusive === 'FF' ? EPK_END : Number.parseInt(maxExclusive, 16)
  return high - low < 2 ? undefined : epkText((low + high) >> 1)
}

function position(range: FeedRange, at: number): FeedPosition {
  return { continuation: `${feedRangeId(range)}@${at}` as Continuation, lsn: lsn(at) }
}

/** @throws ERR_INVALID_CONTINUATION when it is of a range that does not contain this one */
function heldLsn(range: FeedRange, continuation: string): number {
  const cut = continuation.lastIndexOf('@')
  const of = continuation.slice(0, cut)
  const holder = of === feedRangeId(range) ? range : parseFeedRangeId(of)
  if (holder === undefined || !rangeContains(holder, range)) {
    throw new InvalidContinuationError(`${continuation} is no position of ${feedRangeId(range)}`)
  }
  return Number(continuation.slice(cut + 1))
}

function firstAfter(entries: readonly SimulatedChange[], after: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (entries[middle]!.change.lsn <= after) low = middle + 1
    else high = middle
  }
  return low
}

function changeOf<T extends DocumentBody>(key: string, document: T, at: number): Change<T> {
  const stored = { ...document, _rid: '', _self: '', _etag: `"${at}"`, _ts: 0, _lsn: at }
  return {
    kind: 'document',
    id: document.id,
    partitionKey: key,
    lsn: lsn(at),
    committedAtMs: 0,
    document: stored,
  }
}
