import { RangeGoneError } from '../errors/range-gone-error.ts'
import { UnsupportedServerError } from '../errors/unsupported-server-error.ts'
import { isJsonRecord } from './json-record.ts'
import { commonKeys, feedRangeId, rangeContains, type FeedRange } from '../ranges/feed-range.ts'
import { pkRangeId, type PkRangeId } from '../ranges/pk-range.ts'

/** A pkrange as servers list it. */
export interface ListedRange extends FeedRange {
  readonly id: PkRangeId
}

/** The pkranges of a container over HTTP, as they were last seen. */
export class PresentPkRanges {
  readonly #list: (signal?: AbortSignal) => Promise<readonly unknown[]>
  #seen: readonly ListedRange[] | undefined

  /** `list` asks the server for all of them. */
  constructor(list: (signal?: AbortSignal) => Promise<readonly unknown[]>) {
    this.#list = list
  }

  /** Reads the list again; in EPK order. Rejects as `list`, with ERR_SERVER_UNSUPPORTED. */
  async refresh(signal?: AbortSignal): Promise<readonly ListedRange[]> {
    const listed = await this.#list(signal)
    // A listing may still have those that were split or merged.
    const gone = new Set(listed.flatMap(parentsOf))
    const ranges = listed.map(listedRange).filter(({ id }) => !gone.has(id))
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

function parentsOf(value: unknown): readonly unknown[] {
  const parents = isJsonRecord(value) ? value['parents'] : undefined
  return Array.isArray(parents) ? parents : []
}
