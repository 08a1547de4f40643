import {
  InvalidOptionError,
  ResourceNotFoundError,
  UnsupportedServerError,
  checkedStart,
  continuationPosition,
  encodeContinuation,
  divideRange,
  errorCode,
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
  type SourceRange,
  PresentPkRanges,
} from '@tidemark/contracts'
import { HEADER } from '../protocol/header-names.ts'
import { changesOfItems, itemLsn } from './decode-items.ts'
import type { ResolvedFeedOptions } from './feed-options.ts'
import { httpDate } from './platform/http-fetch.ts'
import type { ContainerFacts, RemoteContainer } from './remote-container.ts'
import { jsonOf, type WireAnswer } from './wire-answer.ts'

/** What a page is read by. */
interface PageQuestion {
  readonly range: FeedRange
  readonly mode: FeedMode
  /** Where it begins, as headers. */
  readonly from: Readonly<Record<string, string>>
  readonly maxItemCount: number | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * The feed of a container by the service's own protocol, so also of an Azure Cosmos DB account: pkrange by pkrange,
 * with etags as positions. No pending deletes, no positions of groups, no waiting; readers poll.
 *
 * Continuations hold the interval and the LSN of the etag, and are those of the store's own feed in form.
 */
export class CosmosChangeFeed<T extends DocumentBody> implements ChangeFeedSource<T> {
  readonly identity: string
  readonly description: string
  /** Children of a split keep their documents' LSNs: the service's clients go on in them with the parent's etag. */
  readonly supports: FeedSupport = { waiting: false, childrenCarryParentChanges: true }
  readonly #container: RemoteContainer
  readonly #facts: ContainerFacts
  readonly #ranges: PresentPkRanges
  readonly #options: ResolvedFeedOptions

  constructor(container: RemoteContainer, facts: ContainerFacts, options: ResolvedFeedOptions) {
    this.identity = facts.identity
    this.description = container.description
    this.#container = container
    this.#facts = facts
    this.#ranges = new PresentPkRanges((signal) => container.readPkRanges(signal))
    this.#options = options
  }

  async readFeedRanges({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<
    readonly SourceRange[]
  > {
    return this.#ranges.refresh(signal)
  }

  async divideRange({ range, count }: DivideRangeRequest): Promise<readonly FeedRange[]> {
    return divideRange(range, count, this.#facts.partitionKey)
  }

  async resolveStart(request: FeedStartRequest): Promise<FeedPosition> {
    const { range, mode = 'latestVersion', signal } = request
    const start = checkedStart('start', request.start)
    const question = { range, mode, maxItemCount: 1, signal }
    if (start === 'now') {
      const answer = await this.#ask({ ...question, from: { [HEADER.ifNoneMatch]: '*' } })
      return this.#position(range, mode, etagLsn(answer))
    }
    if (start !== 'beginning' && 'continuation' in start) {
      return this.#position(range, mode, this.#lsnOf(start.continuation, range, mode))
    }
    assertLatest(mode)
    if (start !== 'beginning') return this.#startOfTime(question, start.getTime())
    // The interval has to be one of now.
    await this.#ranges.holding(range, signal)
    return this.#position(range, mode, 0)
  }

  /** The server goes on after an etag in whatever interval of a pkrange: equal ones of neighbours are one of both. */
  async joinPositions(request: JoinPositionsRequest): Promise<FeedPosition | undefined> {
    const { positions, mode = 'latestVersion', signal } = request
    const [first, ...others] = positions
    const last = others.at(-1)
    if (first === undefined || last === undefined) return undefined
    const at = this.#lsnOf(first.continuation, first.range, mode)
    if (others.some((one) => this.#lsnOf(one.continuation, one.range, mode) !== at))
      return undefined
    const { minInclusive } = first.range
    const { maxExclusive } = last.range
    const range = { minInclusive, maxExclusive }
    const present = await this.#ranges.refresh(signal)
    const isOne = present.some((each) => rangeContains(each, range))
    return isOne ? this.#position(range, mode, at) : undefined
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    const { range, continuation, mode = 'latestVersion', signal } = request
    const { maxItemCount = this.#options.maxItemCount } = request
    const at = this.#lsnOf(continuation, range, mode)
    // The service has no etag of the beginning; and all versions have no beginning, so that 0 is an etag there.
    const isBeginning = at === 0 && mode === 'latestVersion'
    const from: Record<string, string> = isBeginning ? {} : { [HEADER.ifNoneMatch]: `"${at}"` }
    const answer = await this.#ask({ range, mode, from, maxItemCount, signal })
    const position = this.#position(range, mode, Math.max(at, etagLsn(answer)))
    if (answer.status === 304) return { changes: [], ...position, caughtUp: true }
    const changes = changesOfItems<T>(this.#items(answer), mode, this.#facts)
    return { changes, ...position, caughtUp: false }
  }

  /** Right before the first change of a second or later; now if there is none. The wire excludes the second itself. */
  async #startOfTime(question: Omit<PageQuestion, 'from'>, timeMs: number): Promise<FeedPosition> {
    const { range, mode } = question
    const since = httpDate(Math.floor(timeMs / 1000) * 1000 - 1000)
    const from: Record<string, string> = { [HEADER.ifModifiedSince]: since }
    const answer = await this.#ask({ ...question, from })
    if (answer.status === 304) return this.#position(range, mode, etagLsn(answer))
    const first = itemLsn(this.#items(answer)[0])
    if (first === undefined) {
      throw new UnsupportedServerError('the server answers items of the feed without LSN')
    }
    return this.#position(range, mode, first - 1)
  }

  /** Asks the pkrange that holds the interval; once more where the list of pkranges was old. */
  async #ask({ range, mode, from, maxItemCount, signal }: PageQuestion): Promise<WireAnswer> {
    const { sessionToken } = this.#options
    const id = this.#container.name.container
    for (let attempt = 1; ; attempt++) {
      const held = await this.#ranges.holding(range, signal)
      try {
        return await this.#container.send({
          method: 'GET',
          path: ['docs'],
          headers: {
            ...MODE_HEADERS[mode],
            ...from,
            ...(maxItemCount !== undefined && { [HEADER.maxItemCount]: String(maxItemCount) }),
            ...(sessionToken !== undefined && { [HEADER.sessionToken]: sessionToken }),
            [HEADER.pkRangeId]: held.id,
            ...(!rangesEqual(held, range) && {
              [HEADER.startEpk]: range.minInclusive,
              [HEADER.endEpk]: range.maxExclusive,
              'x-ms-read-key-type': 'EffectivePartitionKeyRange',
            }),
          },
          subject: { resource: 'collection', id, effect: 'none', range },
          signal,
        })
      } catch (error) {
        if (errorCode(error) !== 'ERR_RANGE_GONE') throw error
        const gone = await this.#ranges.gone(range, signal)
        if (attempt > 1 || gone.successors.length !== 1) throw gone
      }
    }
  }

  #items(answer: WireAnswer): readonly unknown[] {
    const { Documents: items, _rid } = jsonOf(answer)
    // Etags of another container of the same name would be taken for this one's.
    if (typeof _rid === 'string' && _rid !== this.#facts.rid) {
      throw new ResourceNotFoundError('collection', this.#container.name.container)
    }
    if (!Array.isArray(items)) throw new UnsupportedServerError('the server answers no feed page')
    return items
  }

  #lsnOf(continuation: string, range: FeedRange, mode: FeedMode): number {
    return continuationPosition(continuation, { collectionRid: this.#facts.rid, mode, range }).lsn
  }

  #position({ minInclusive, maxExclusive }: FeedRange, mode: FeedMode, at: number): FeedPosition {
    const position = {
      range: { minInclusive, maxExclusive },
      epoch: 0,
      lsn: lsn(at),
      // What was purged before is no business of a reader without pending deletes.
      purgeStamp: undefined,
    }
    const { rid: collectionRid } = this.#facts
    return {
      continuation: encodeContinuation({ collectionRid, mode, positions: [position] }),
      lsn: lsn(at),
    }
  }
}

const MODE_HEADERS: Readonly<Record<FeedMode, Readonly<Record<string, string>>>> = {
  latestVersion: { [HEADER.aIm]: 'Incremental Feed' },
  allVersions: {
    [HEADER.aIm]: 'Full-Fidelity Feed',
    'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15',
  },
}

function etagLsn({ header }: WireAnswer): number {
  const etag = header(HEADER.etag)
  const at = Number(/^(?:W\/)?"?(\d{1,16})"?$/.exec(etag ?? '')?.[1] ?? Number.NaN)
  if (Number.isSafeInteger(at)) return at
  throw new UnsupportedServerError(
    `the server answers a feed page with etag ${JSON.stringify(etag)}, which is no LSN`,
  )
}

function assertLatest(mode: FeedMode): void {
  if (mode === 'latestVersion') return
  throw new InvalidOptionError(
    'by the protocol of the service all versions are read from now or from a continuation on only',
  )
}
