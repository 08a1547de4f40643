import type { FeedRange, PartitionKeyRange } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'

/** A pkrange with what is in it. */
export interface MeasuredRange extends FeedRange {
  readonly id: string
  /** All ancestors, oldest first. */
  readonly parents: readonly string[]
  /** Live ones. */
  readonly documents: number
  /** Of their text. */
  readonly bytes: number
  readonly newestLsn: number
}

/** All present ranges of a collection, in the order of their keys. */
export async function presentRanges(collection: Collection): Promise<readonly MeasuredRange[]> {
  const found: MeasuredRange[] = []
  let continuation: string | undefined
  do {
    const page = await collection.readPartitionKeyRanges({ continuation })
    found.push(...(await measuredRanges(collection, page.ranges)))
    continuation = page.continuation
  } while (continuation !== undefined)
  return found
}

export async function measuredRanges(
  collection: Collection,
  ranges: readonly PartitionKeyRange[],
): Promise<readonly MeasuredRange[]> {
  const { engine, record } = await collection.open()
  return Promise.all(
    ranges.map(async (range) => {
      const { id, minInclusive, maxExclusive, parents } = range
      const { documents, bytes } = await engine.measureRange(record, Number(id))
      const { lsn } = await collection.resolveStart({ range, start: 'now' })
      return { id, minInclusive, maxExclusive, parents, documents, bytes, newestLsn: lsn }
    }),
  )
}
