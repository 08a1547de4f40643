import {
  UnsupportedServerError,
  feedRangeId,
  parseFeedRangeId,
  type FeedRange,
  type RequestOptions,
} from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import { KnownContainer } from '../container-facts.ts'
import type { CosmosContainer } from '../cosmos-container.ts'

/** What V3's leases say of the container that they are for. */
export interface MonitoredContainer {
  readonly database: string
  readonly container: string
  /** Its `_rid`. */
  readonly containerRid: string
  /** Present pkranges, in EPK order. */
  readonly pkRanges: readonly MonitoredRange[]
}

export interface MonitoredRange extends FeedRange {
  readonly id: string
  /** Ids of all its ancestors. */
  readonly parents: readonly string[]
}

/** Rejects with ERR_NOT_FOUND, ERR_SERVER_UNSUPPORTED, and as the client's errors are translated. */
export async function readMonitored(
  container: CosmosContainer,
  { signal }: RequestOptions,
): Promise<MonitoredContainer> {
  const known = new KnownContainer(container)
  const [{ rid }, listed] = await Promise.all([known.facts(signal), known.readPkRanges(signal)])
  const ranges = listed.map(monitoredRange)
  // The list may still have those that were split.
  const gone = new Set(ranges.flatMap(({ parents }) => parents))
  return {
    database: container.database.id,
    container: container.id,
    containerRid: rid,
    pkRanges: ranges
      .filter(({ id }) => !gone.has(id))
      .toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1)),
  }
}

function monitoredRange(value: unknown): MonitoredRange {
  const { id, minInclusive, maxExclusive, parents } = isJsonRecord(value) ? value : {}
  const min = typeof minInclusive === 'string' ? minInclusive : '?'
  const range = parseFeedRangeId(
    feedRangeId({ minInclusive: min, maxExclusive: String(maxExclusive) }),
  )
  if (typeof id !== 'string' || range === undefined) {
    throw new UnsupportedServerError('the server lists a pkrange that cannot be read')
  }
  return { id, ...range, parents: Array.isArray(parents) ? parents.map(String) : [] }
}
