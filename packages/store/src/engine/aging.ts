import { FULL_RANGE, commonKeys, feedRangeId, type FeedRange } from '@tidemark/contracts'
import type { CollectionRecord } from './catalog.ts'
import { allArePast, positionPart, type PositionList } from './group-positions.ts'
import { horizonAt, raiseHorizon, type Horizon, type Horizons } from './horizons.ts'
import { singleEpkRange } from './range-lookup.ts'

/** Rows that are removed after their retention: pending deletes, or entries of the log of all versions. */
export type AgingKind = 'pendingDeletes' | 'versions'

/** What determines when a row can be removed. */
export interface AgingTimes {
  readonly lsn: number
  /** When it was written: epoch seconds of a pending delete, epoch ms of an entry of the log. */
  readonly writtenAt: number
  readonly epk: string
}

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

/**
 * The rows of a range to remove now: about `maxItems` from the beginning. `rows` are in LSN order. An LSN is removed as a
 * whole or stays, so that one LSN marks what is gone.
 */
export function removableRows<Row extends AgingTimes>(
  rows: readonly Row[],
  aging: Pick<Aging, 'mayGo'>,
  maxItems: number,
): readonly Row[] {
  const stays = rows.find((row) => !aging.mayGo(row))
  const removable = stays === undefined ? rows : rows.filter(({ lsn }) => lsn < stays.lsn)
  const lastLsn = removable[maxItems - 1]?.lsn ?? Infinity
  return removable.filter(({ lsn }) => lsn <= lastLsn)
}

/** A range's horizons after these rows of it were removed, at a purge with this stamp. */
export function horizonsAfter(
  before: Horizons,
  removed: readonly AgingTimes[],
  {
    range,
    aging,
    stamp,
  }: {
    readonly range: FeedRange
    readonly aging: Pick<Aging, 'keysAround'>
    readonly stamp: number
  },
): Horizons {
  const raised = new Map<string, Horizon>()
  for (const { epk, lsn } of removed) {
    // From before the log was switched on again: whoever lacks it has been told of that.
    if (lsn <= horizonAt(before, singleEpkRange(epk))) continue
    const keys = commonKeys(aging.keysAround(epk), range)
    // In LSN order: of several for the same keys, the last one counts.
    if (keys !== undefined) raised.set(feedRangeId(keys), { range: keys, lsn, stamp })
  }
  return [...raised.values()].reduce(raiseHorizon, before)
}
