import { rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { WriteFence } from './commit.ts'

/** The highest epoch with which a job has written in one range of its source. */
export interface FenceRecord {
  readonly range: FeedRange
  readonly epoch: number
}

/**
 * The epoch that refuses a write: the highest of any overlapping range of the job, if it is above the fence's own.
 * Undefined when the write is allowed. A range that was split or merged since then overlaps its predecessors, so a
 * worker with the old range is stale there too.
 */
export function refusingEpoch(
  records: readonly FenceRecord[],
  fence: WriteFence,
): number | undefined {
  let highest = fence.epoch
  for (const record of records) {
    if (record.epoch > highest && rangesOverlap(record.range, fence.range)) highest = record.epoch
  }
  return highest > fence.epoch ? highest : undefined
}

/**
 * The records after a write with `fence` was allowed. Records inside its range are dropped: they cannot be higher, and
 * the new record refuses everything that they would refuse.
 */
export function withFence(
  records: readonly FenceRecord[],
  fence: WriteFence,
): readonly FenceRecord[] {
  const kept = records.filter((record) => !rangeContains(fence.range, record.range))
  return [...kept, { range: fence.range, epoch: fence.epoch }]
}
