import {
  InvalidOptionError,
  ResourceNotFoundError,
  StoreUnavailableError,
  UnsupportedServerError,
  checkedStart,
  continuationPosition,
  divideRange,
  encodeContinuation,
  errorCode,
  feedRangeId,
  lsn,
  rangeContains,
  rangesEqual,
  type ChangeFeedSource,
  type DivideRangeRequest,
  type DocumentBody,
  type FeedMode,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedStartRequest,
  type FeedSupport,
  type JoinPositionsRequest,
  type PositionAtRequest,
  type SourceRange,
} from '@tidemark/contracts'
import {
  PresentPkRanges,
  errorOfWire,
  type ListedRange,
  type RequestSubject,
} from '@tidemark/contracts/internal'
import { callClient } from '../client-error.ts'
import { KnownContainer, type ContainerFacts } from '../container-facts.ts'
import { headerOf } from '../cosmos-container.ts'
import type { CosmosContainer, FeedIterator, IteratorPage } from '../cosmos-container.ts'
import { dateOf } from '../platform/dates.ts'
import { changesOfItems, itemLsn } from './decode-items.ts'
import { FeedClient, isPageOf } from './feed-client.ts'
import { resolveFeedOptions, type CosmosFeedOptions } from './feed-options.ts'
import { OpenIterators } from './open-iterators.ts'

/** Reads of a page while the pkranges change under them. */
const MAX_ATTEMPTS = 3

/**
 * The change feed of a container of Azure Cosmos DB for `ChangeFeedProcessorHost`, read by the client that the container
 * belongs to: its credentials, regions, consistency and retries are the client's. Nothing is asked before it is used.
 *
 * Latest versions from everywhere; all versions and deletes from now or a continuation on, as in the service. Readers poll,
 * there are no pending deletes, and positions are not kept with the feed.
 *
 * @throws ERR_INVALID_OPTION
 */
export function cosmosFeed<T extends DocumentBody = DocumentBody>(
  container: CosmosContainer,
  options: CosmosFeedOptions = {},
): ChangeFeedSource<T> {
  return new CosmosChangeFeed<T>(container, options)
}

/**
 * Pkrange by pkrange, with etags as positions.
 *
 * What orders the versions of a key: a feed is in LSN order, a key lives in one pkrange at a time, and the LSNs of children
 * go on above the parent's. The client gives each child of a split the parent's etag. So does this feed: its continuations
 * have an interval and the LSN of an etag, and a reader of the parent continues in each child after the parent's last page.
 * The client's own continuation has several intervals with an etag each, which is no position that could be compared, and
 * an answer 410 that is no split takes an interval's etag from it. So an iterator is only used for as long as its place
 * is that of the reader (decision 0042).
 */
class CosmosChangeFeed<T extends DocumentBody> implements ChangeFeedSource<T> {
  readonly identity: string
  readonly description: string
  readonly supports: FeedSupport = {
    waiting: false,
    childrenCarryParentChanges: true,
    allVersions: true,
  }
  readonly #container: CosmosContainer
  readonly #known: KnownContainer
  readonly #ranges: PresentPkRanges
  readonly #client: FeedClient
  readonly #open = new OpenIterators()
  readonly #maxItemCount: number | undefined

  constructor(container: CosmosContainer, options: CosmosFeedOptions) {
    const resolved = resolveFeedOptions(options)
    const known = new KnownContainer(container)
    const { account } = resolved
    this.identity = account === undefined ? known.identity : `${account}/${known.identity}`
    this.description = `${container.database.id}/${container.id}`
    this.#container = container
    this.#known = known
    this.#ranges = new PresentPkRanges((signal) => known.readPkRanges(signal))
    this.#client = new FeedClient(container, resolved)
    this.#maxItemCount = resolved.maxItemCount
  }

  async readRid({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<string> {
    return (await this.#known.facts(signal)).rid
  }

  async readFeedRanges({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<
    readonly SourceRange[]
  > {
    return this.#ranges.refresh(signal)
  }

  async divideRange({ range, count, signal }: DivideRangeRequest): Promise<readonly FeedRange[]> {
    const { partitionKey } = await this.#known.facts(signal)
    return divideRange(range, count, partitionKey)
  }

  async resolveStart(request: FeedStartRequest): Promise<FeedPosition> {
    const { range, mode = 'latestVersion', signal } = request
    const start = checkedStart('start', request.start)
    const facts = await this.#known.facts(signal)
    if (start === 'now') return this.#startFrom('now', { range, mode, facts, signal })
    if (start !== 'beginning' && 'continuation' in start) {
      return position(facts, {
        range,
        mode,
        lsn: lsnOf(facts, start.continuation, { range, mode }),
      })
    }
    assertLatest(mode)
    if (start !== 'beginning') {
      // The service leaves out the second itself.
      const since = Math.floor(start.getTime() / 1000) * 1000 - 1000
      return this.#startFrom(dateOf(since), { range, mode, facts, signal })
    }
    // The interval has to be one of now.
    await this.#ranges.holding(range, signal)
    return position(facts, { range, mode, lsn: 0 })
  }

  /** An etag is an LSN, of any interval of its pkrange. The service does not say which ones it has reached. */
  async positionAt({
    range,
    lsn: at,
    mode = 'latestVersion',
    signal,
  }: PositionAtRequest): Promise<FeedPosition> {
    const facts = await this.#known.facts(signal)
    await this.#ranges.holding(range, signal)
    return position(facts, { range, mode, lsn: at })
  }

  /** The service goes on after an etag in whatever interval of a pkrange: equal ones of neighbours are one of both. */
  async joinPositions(request: JoinPositionsRequest): Promise<FeedPosition | undefined> {
    const { positions, mode = 'latestVersion', signal } = request
    const [first, ...others] = positions
    const last = others.at(-1)
    if (first === undefined || last === undefined) return undefined
    const facts = await this.#known.facts(signal)
    const at = lsnOf(facts, first.continuation, { range: first.range, mode })
    const isEqual = others.every(
      ({ range, continuation }) => lsnOf(facts, continuation, { range, mode }) === at,
    )
    if (!isEqual) return undefined
    const { minInclusive } = first.range
    const { maxExclusive } = last.range
    const range = { minInclusive, maxExclusive }
    const present = await this.#ranges.refresh(signal)
    const isOne = present.some((each) => rangeContains(each, range))
    return isOne ? position(facts, { range, mode, lsn: at }) : undefined
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    const { continuation, mode = 'latestVersion', signal } = request
    const { minInclusive, maxExclusive } = request.range
    const range = { minInclusive, maxExclusive }
    const asked = request.maxItemCount === -1 ? undefined : request.maxItemCount
    const maxItemCount = asked ?? this.#maxItemCount
    const facts = await this.#known.facts(signal)
    const at = lsnOf(facts, continuation, { range, mode })
    const { page, iterator, place } = await this.#settled(range, signal, async (held) => {
      const place = { range, mode, lsn: at, maxItemCount, pkRangeId: held.id }
      const open = this.#open.take(place)
      const iterator = open ?? this.#client.after(place, facts.rid)
      const page = await this.#next(iterator, { range, held, facts, signal })
      return page && { page, iterator, place }
    })
    const etag = etagLsn(page)
    const next = { ...place, lsn: Math.max(at, etag) }
    if (next.lsn === etag) this.#open.put(next, iterator)
    const changes = page.statusCode === 304 ? [] : changesOfItems<T>(itemsOf(page), mode, facts)
    return { changes, ...position(facts, next), caughtUp: page.statusCode === 304 }
  }

  /**
   * Right before the first change that is newer than a start, or the newest position if there is none. A position of
   * a pkrange is one of each of its parts.
   */
  async #startFrom(
    start: Date | 'now',
    { range, mode, facts, signal }: Asked & { readonly mode: FeedMode },
  ): Promise<FeedPosition> {
    const container = this.#container
    const page = await this.#settled(range, signal, async (held) => {
      const feedRanges = await callClient(subjectOf(container, range), signal, () =>
        container.getFeedRanges(),
      )
      const whole = feedRanges.find((each) => rangesEqual(each, held))
      if (whole === undefined) return undefined
      const iterator = this.#client.from(whole, start, { mode, maxItemCount: 1 })
      return this.#next(iterator, { range: whole, held, facts, signal })
    })
    if (page.statusCode === 304) return position(facts, { range, mode, lsn: etagLsn(page) })
    const first = itemLsn(itemsOf(page)[0])
    if (first === undefined) {
      throw new UnsupportedServerError('the server answers items of the feed without LSN')
    }
    return position(facts, { range, mode, lsn: first - 1 })
  }

  /** What was read from the pkrange that holds an interval; again where that is not one pkrange any more. */
  async #settled<Result>(
    range: FeedRange,
    signal: AbortSignal | undefined,
    read: (held: ListedRange) => Promise<Result | undefined>,
  ): Promise<Result> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const held = await this.#ranges.holding(range, signal)
      const result = await read(held).catch((error: unknown) => {
        if (errorCode(error) !== 'ERR_RANGE_GONE') throw error
        return undefined
      })
      if (result !== undefined) return result
      await this.#ranges.refresh(signal)
    }
    throw new StoreUnavailableError(
      `container ${this.#container.id}: the pkrange of ${feedRangeId(range)} is being moved`,
    )
  }

  /** The next page of an iterator; undefined when it is none of this interval as a whole. */
  async #next(
    iterator: FeedIterator,
    { range, held, facts, signal }: Asked & { readonly held: ListedRange },
  ): Promise<IteratorPage | undefined> {
    const { id } = this.#container
    const subject = subjectOf(this.#container, range)
    let page: IteratorPage
    try {
      page = await callClient(subject, signal, () => iterator.readNext())
    } catch (error) {
      // To an iterator of another container of this name the client says no, without a status.
      if (errorCode(error) === 'ERR_STORE_UNAVAILABLE') await this.#known.assertSame(signal)
      throw error
    }
    const { statusCode: status, subStatusCode: substatus, headers } = page
    if (status !== 200 && status !== 304) {
      const message = `container ${id}: no page of ${feedRangeId(range)}`
      throw errorOfWire({ status, substatus, message }, subject)
    }
    // Etags of another container of the same name would be taken for this one's.
    const rid = headerOf(headers, 'x-ms-content-path')
    if (rid !== undefined && rid !== facts.rid) throw new ResourceNotFoundError('collection', id)
    return isPageOf(page, range, held.id) ? page : undefined
  }
}

interface Asked {
  readonly range: FeedRange
  readonly facts: ContainerFacts
  readonly signal: AbortSignal | undefined
}

function subjectOf({ id }: CosmosContainer, range: FeedRange): RequestSubject {
  return { resource: 'collection', id, effect: 'none', range }
}

function itemsOf({ result }: IteratorPage): readonly unknown[] {
  if (Array.isArray(result)) return result
  throw new UnsupportedServerError('the client has a feed page without items')
}

function etagLsn({ headers }: IteratorPage): number {
  const etag = headerOf(headers, 'etag')
  const at = Number(/^(?:W\/)?"?(\d{1,16})"?$/.exec(etag ?? '')?.[1] ?? Number.NaN)
  if (Number.isSafeInteger(at)) return at
  throw new UnsupportedServerError(
    `the server answers a feed page with etag ${JSON.stringify(etag)}, which is no LSN`,
  )
}

function lsnOf(
  { rid: collectionRid }: ContainerFacts,
  continuation: string,
  { range, mode }: { readonly range: FeedRange; readonly mode: FeedMode },
): number {
  return continuationPosition(continuation, { collectionRid, mode, range }).lsn
}

function position(
  { rid: collectionRid }: ContainerFacts,
  {
    range,
    mode,
    lsn: at,
  }: { readonly range: FeedRange; readonly mode: FeedMode; readonly lsn: number },
): FeedPosition {
  const { minInclusive, maxExclusive } = range
  const place = {
    range: { minInclusive, maxExclusive },
    epoch: 0,
    lsn: lsn(at),
    // What was purged before is no business of a reader without pending deletes.
    purgeStamp: undefined,
  }
  const continuation = encodeContinuation({ collectionRid, mode, positions: [place] })
  return { continuation, lsn: lsn(at) }
}

function assertLatest(mode: FeedMode): void {
  if (mode === 'latestVersion') return
  throw new InvalidOptionError(
    'by the protocol of the service all versions are read from now or from a continuation on only',
  )
}
