import { pkRangeId } from '@tidemark/contracts'
import type { RangeRecord } from '../engine/catalog.ts'
import type { EventRange, StoreEvents } from './store-events.ts'

export interface EventCollection {
  readonly databaseId: string
  readonly id: string
}

export function rangeSplitEvent(
  { databaseId, id }: EventCollection,
  split: {
    readonly rangeId: string
    readonly children: readonly [RangeRecord, RangeRecord]
    readonly cause: 'request' | 'size'
  },
): StoreEvents['rangeSplit'] {
  const [low, high] = split.children
  return {
    databaseId,
    collectionId: id,
    rangeId: pkRangeId(split.rangeId),
    children: [eventRange(low), eventRange(high)],
    cause: split.cause,
  }
}

export function rangesMergedEvent(
  { databaseId, id }: EventCollection,
  rangeIds: readonly [string, string],
  range: RangeRecord,
): StoreEvents['rangesMerged'] {
  const [first, second] = rangeIds
  return {
    databaseId,
    collectionId: id,
    rangeIds: [pkRangeId(first), pkRangeId(second)],
    range: eventRange(range),
  }
}

function eventRange({ number, minInclusive, maxExclusive }: RangeRecord): EventRange {
  return { id: pkRangeId(String(number)), minInclusive, maxExclusive }
}
