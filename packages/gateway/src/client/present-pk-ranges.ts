import {
  RangeGoneError,
  UnsupportedServerError,
  commonKeys,
  feedRangeId,
  pkRangeId,
  rangeContains,
  type FeedRange,
  type PkRangeId,
} from '@tidemark/contracts'
import { HEADER } from '../protocol/header-names.ts'
import { isJsonRecord } from '../protocol/request-values.ts'
import type { RemoteContainer } from './remote-container.ts'
import { jsonOf } from './wire-answer.ts'

/** A pkrange as servers list it. */
export interface ListedRange extends FeedRange {
  readonly id: PkRangeId
}

/** The pkranges of a container over HTTP, as they were last seen. */
export class PresentPkRanges {
  readonly #container: RemoteContainer
  #seen: readonly ListedRange[] | undefined

  constructor(container: RemoteContainer) {
    this.#container = container
  }

  /** Reads the list again; in EPK order. */
  async refresh(signal?: AbortSignal): Promise<readonly ListedRange[]> {
    const id = this.#container.name.container
    const ranges: ListedRange[] = []
    let continuation: string | undefined
    do {
      const answer = await this.#container.send({
        method: 'GET',
        path: ['pkranges'],
        headers: continuation === undefined ? {} : { [HEADER.continuation]: continuation },
        subject: { resource: 'collection', id, effect: 'none' },
        signal,
      })
      const { PartitionKeyRanges: list } = jsonOf(answer)
      if (!Array.isArray(list)) {
        throw new UnsupportedServerError(`container ${id}: the server lists no pkranges`)
      }
      ranges.push(...list.map(listedRange))
      continuation = answer.header(HEADER.continuation)
    } while (continuation !== undefined)
    this.#seen = ranges.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
    return this.#seen
  }

  /**
   * The pkrange that holds all of an interval, as far as is known.
   *
   * @throws ERR_RANGE_GONE naming successors when no present one does
   */
  async holding(range: FeedRange, signal?: AbortSignal): Promise<ListedRange> {
    const held = this.#seen?.find((each) => rangeContains(each, range))
    if (held !== undefined) return held
    const present = await this.refresh(signal)
    const found = present.find((each) => rangeContains(each, range))
    if (found === undefined) throw goneFrom(range, present)
    return found
  }

  /** That an interval is in no present pkrange as a whole, with what took its place. */
  async gone(range: FeedRange, signal?: AbortSignal): Promise<RangeGoneError> {
    return goneFrom(range, await this.refresh(signal))
  }
}

function goneFrom(range: FeedRange, present: readonly FeedRange[]): RangeGoneError {
  const successors = present.flatMap((each) => commonKeys(each, range) ?? [])
  return new RangeGoneError(feedRangeId(range), successors)
}

function listedRange(value: unknown): ListedRange {
  if (isJsonRecord(value)) {
    const { id, minInclusive, maxExclusive } = value
    if (
      typeof id === 'string' &&
      /^\d+$/.test(id) &&
      typeof minInclusive === 'string' &&
      typeof maxExclusive === 'string'
    ) {
      return { id: pkRangeId(id), minInclusive, maxExclusive }
    }
  }
  throw new UnsupportedServerError('the server lists a pkrange that cannot be read')
}
