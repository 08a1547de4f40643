import { FULL_RANGE, type FeedRange } from '@tidemark/contracts'
import {
  allArePast,
  positionPart,
  type CollectionRecord,
  type PositionList,
} from '@tidemark/store/engine'
import type { AgingKind, AgingTimes } from './aging-rows.ts'

/** How rows of one kind age. */
export interface Aging {
  readonly kind: AgingKind
  mayGo(row: AgingTimes): boolean
  /** Store time at which it can be removed, epoch ms; undefined when time alone does not decide. */
  dueMs(row: AgingTimes): number | undefined
  /** Keys around one key whose horizon rises with it; see `positionPart`. */
  keysAround(epk: string): FeedRange
}

/** When a pending delete can be purged: its retention is over, and every waiting group has passed it (TTL-14). */
export function pendingDeleteAging(
  { definition }: CollectionRecord,
  {
    positions,
    nowMs,
  }: { readonly positions: ReadonlyMap<string, PositionList>; readonly nowMs: number },
): Aging {
  const { retentionSeconds, waitFor } = definition.pendingDeletes
  const positionsOf = (group: string): PositionList => positions.get(group) ?? []
  const retainedUntilMs = ({ writtenAt }: AgingTimes): number =>
    (writtenAt + retentionSeconds) * 1000
  const isPassed = (row: AgingTimes): boolean => allArePast(waitFor, positionsOf, row)
  return {
    kind: 'pendingDeletes',
    mayGo: (row) => retainedUntilMs(row) <= nowMs && isPassed(row),
    dueMs: (row) => (isPassed(row) ? retainedUntilMs(row) : undefined),
    keysAround: (epk) => positionPart(waitFor, positionsOf, epk),
  }
}

/** When an entry of the log can be removed: after its retention, or at once when the log was switched off (CF-11). */
export function versionAging(
  { definition: { allVersions } }: CollectionRecord,
  nowMs: number,
): Aging {
  const retentionMs = allVersions === null ? -Infinity : allVersions.retentionSeconds * 1000
  return {
    kind: 'versions',
    mayGo: ({ writtenAt }) => writtenAt <= nowMs - retentionMs,
    dueMs: ({ writtenAt }) => writtenAt + retentionMs,
    keysAround: () => FULL_RANGE,
  }
}
