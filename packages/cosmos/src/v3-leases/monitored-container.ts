import type { Container } from '@azure/cosmos'
import {
  feedRangeId,
  LeaseStorageError,
  parseFeedRangeId,
  type FeedRange,
  type RequestOptions,
} from '@tidemark/contracts'

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

export async function readMonitored(
  container: Container,
  { signal }: RequestOptions,
): Promise<MonitoredContainer> {
  const options = signal === undefined ? {} : { abortSignal: signal }
  const [{ resource }, { resources }] = await Promise.all([
    container.read(options),
    container.readPartitionKeyRanges(options).fetchAll(),
  ])
  if (resource?._rid === undefined) {
    throw new LeaseStorageError(`container ${container.id} has no _rid`)
  }
  const ranges = resources.flatMap(
    ({ id, minInclusive, maxExclusive, parents }): MonitoredRange[] => {
      const range = parseFeedRangeId(feedRangeId({ minInclusive, maxExclusive }))
      return range === undefined ? [] : [{ id, ...range, parents }]
    },
  )
  // A listing may still have those that were split.
  const gone = new Set(ranges.flatMap(({ parents }) => parents))
  return {
    database: container.database.id,
    container: container.id,
    containerRid: resource._rid,
    pkRanges: ranges
      .filter(({ id }) => !gone.has(id))
      .sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1)),
  }
}
