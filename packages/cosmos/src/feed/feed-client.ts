import { rangesEqual, type FeedRange } from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import type { CosmosContainer, FeedIterator, IteratorPage } from '../cosmos-container.ts'
import { headerOf } from '../cosmos-container.ts'
import { moduleOf, type ClientModule } from '../platform/client-module.ts'
import type { ResolvedFeedOptions } from './feed-options.ts'
import type { IteratorPlace } from './open-iterators.ts'

/** What an iterator reads. */
type IteratorWanted = Pick<IteratorPlace, 'mode' | 'maxItemCount'>

/** Makes feed iterators of the client. */
export class FeedClient {
  readonly #container: CosmosContainer
  readonly #module: ClientModule
  readonly #options: ResolvedFeedOptions

  /** @throws ERR_INVALID_OPTION */
  constructor(container: CosmosContainer, options: ResolvedFeedOptions) {
    this.#container = container
    this.#module = moduleOf(container)
    this.#options = options
  }

  /**
   * Goes on in an interval after an LSN. The client has feed ranges of whole pkranges
   * only. An interval of any kind is what its continuations have, so that one is made here as the client makes them:
   * the same since it has this iterator (4.3).
   */
  after({ range, lsn, mode, maxItemCount }: IteratorPlace, rid: string): FeedIterator {
    // The service has no etag of the beginning; and all versions have no beginning, so that 0 is an etag there.
    const isBeginning = lsn === 0 && mode === 'latestVersion'
    const { minInclusive, maxExclusive } = range
    const place = { minInclusive, maxExclusive, continuationToken: isBeginning ? '' : `"${lsn}"` }
    const continuation = JSON.stringify({ rid, Continuation: [place] })
    return this.#iterator(this.#module.ChangeFeedStartFrom.Continuation(continuation), {
      mode,
      maxItemCount,
    })
  }

  /** Begins at this moment, or with what is newer than a time. `feedRange` is one that the client has given. */
  from(feedRange: FeedRange, start: Date | 'now', wanted: IteratorWanted): FeedIterator {
    const { ChangeFeedStartFrom } = this.#module
    return this.#iterator(
      start === 'now'
        ? ChangeFeedStartFrom.Now(feedRange)
        : ChangeFeedStartFrom.Time(start, feedRange),
      wanted,
    )
  }

  #iterator(changeFeedStartFrom: object, { mode, maxItemCount }: IteratorWanted): FeedIterator {
    const { ChangeFeedMode } = this.#module
    const { client } = this.#options
    return this.#container.items.getChangeFeedIterator({
      ...client,
      changeFeedStartFrom,
      changeFeedMode:
        mode === 'allVersions'
          ? ChangeFeedMode.AllVersionsAndDeletes
          : ChangeFeedMode.LatestVersion,
      ...(maxItemCount !== undefined && { maxItemCount }),
    })
  }
}

/**
 * Whether a page is one of this interval as a whole, read from this pkrange. After a split the client's iterator goes on with the
 * children, and its continuation has an entry for each. After a merge that another reader has seen, the iterator of 4.3 reads the
 * whole new pkrange for what was the old one.
 */
export function isPageOf(
  { headers, continuationToken }: IteratorPage,
  range: FeedRange,
  pkRangeId: string,
): boolean {
  const answering = headerOf(headers, 'x-ms-documentdb-partitionkeyrangeid')
  if (answering !== undefined && answering !== pkRangeId) return false
  const [place, ...others] = placesOf(continuationToken)
  return place !== undefined && others.length === 0 && rangesEqual(place, range)
}

function placesOf(continuation: string | undefined): readonly FeedRange[] {
  const value: unknown = continuation === undefined ? undefined : JSON.parse(continuation)
  const places = isJsonRecord(value) ? value['Continuation'] : undefined
  if (!Array.isArray(places)) return []
  return places.map((place: unknown) => {
    const { minInclusive, maxExclusive } = isJsonRecord(place) ? place : {}
    return { minInclusive: String(minInclusive), maxExclusive: String(maxExclusive) }
  })
}
