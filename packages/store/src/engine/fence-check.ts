import { rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { WriteFence } from './commit.ts'

/** The highest epoch that a job has written with in one range of its source. */
export interface FenceRecord {
  readonly range: FeedRange
  readonly epoch: number
}

/**
 * The epoch that refuses a write: the highest of any overlapping range of the job, if it is above the
 * fence's own. Undefined when the write may go on. A range that was cut or joined since then overlaps
 * its predecessors, so that a worker of the old cut is stale there too.
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
 * The records after a write with `fence` was let through. Those inside its range are dropped: they
 * cannot be above it, and the new record refuses whatever they would.
 */
export function withFence(
  records: readonly FenceRecord[],
  fence: WriteFence,
): readonly FenceRecord[] {
  const kept = records.filter((record) => !rangeContains(fence.range, record.range))
  return [...kept, { range: fence.range, epoch: fence.epoch }]
}
