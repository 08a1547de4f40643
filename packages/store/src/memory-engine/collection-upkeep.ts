import { FULL_RANGE, type FeedRange } from '@tidemark/contracts'
import { allArePast, positionPart } from '../engine/group-positions.ts'
import type { MemoryCollection } from './memory-collection.ts'
import type { MemoryRange } from './memory-range.ts'
import type { MemoryRow, MemoryVersion } from './memory-row.ts'
import { expireDocument } from './write-rows.ts'

/** The result of one piece of background work. */
export interface UpkeepResult {
  readonly items: number
  /** True when another piece would find more at once. */
  readonly more: boolean
}

/** The limits of a piece, and the present time. */
export interface UpkeepLimits {
  readonly maxItems: number
  /** Store clock, epoch ms. */
  readonly nowMs: number
}

/**
 * Turns expired documents into pending deletes, the longest expired first. Documents that expired under past values of
 * `defaultTtl` come first.
 */
export function sweep(
  collection: MemoryCollection,
  { maxItems, nowMs }: UpkeepLimits,
): UpkeepResult {
  if (collection.record.ttlEras.length > 0) return { items: 0, more: false }
  const second = Math.floor(nowMs / 1000)
  const due: MemoryRow[] = []
  for (const row of collection.documents.expiringFrom(0)) {
    if (row.expirySecond > second || due.length >= maxItems) break
    due.push(row)
  }
  expireAll(collection, due, nowMs)
  return { items: due.length, more: collection.documents.anyDueBy(second) }
}

/**
 * Turns all expired documents, also those of past values of `defaultTtl`, into pending deletes, then forgets these
 * values.
 */
export function finishEras(
  collection: MemoryCollection,
  { maxItems, nowMs }: UpkeepLimits,
): UpkeepResult {
  const due: MemoryRow[] = []
  let more = false
  for (const row of collection.documents.from()) {
    if (collection.expiredSecond(row, nowMs) === 0) continue
    more = due.length >= maxItems
    if (more) break
    due.push(row)
  }
  expireAll(collection, due, nowMs)
  if (!more) collection.forgetEras()
  return { items: due.length, more }
}

/** Removes pending deletes from each range, oldest first, and raises the horizon (TTL-14). */
export function purge(
  collection: MemoryCollection,
  { maxItems, nowMs }: UpkeepLimits,
): UpkeepResult {
  const stamp = collection.nextPurgeStamp(nowMs)
  let items = 0
  for (const range of collection.ranges) {
    const { pending } = range
    let count = 0
    while (items + count < maxItems && mayPurge(collection, pending[count], nowMs)) count++
    for (const row of pending.slice(0, count)) {
      const keys = positionPartOf(collection, row)
      range.raiseHorizon('latestVersion', { range: keys, lsn: row.lsn, stamp })
    }
    range.removePending(count)
    items += count
  }
  const more = collection.ranges.some(({ pending }) => mayPurge(collection, pending[0], nowMs))
  return { items, more }
}

/**
 * When the next pending delete of a range can be purged; undefined when there is none, or when a group must pass it
 * first.
 */
export function nextPurgeMs(collection: MemoryCollection, range: MemoryRange): number | undefined {
  const next = range.pending[0]
  if (next === undefined || !isPassed(collection, next)) return undefined
  return retainedUntilMs(collection, next)
}

/** Removes entries of the log of all versions from each range, oldest first, and raises its horizon. */
export function trimVersions(
  collection: MemoryCollection,
  { maxItems, nowMs }: UpkeepLimits,
): UpkeepResult {
  const stamp = collection.nextPurgeStamp(nowMs)
  let items = 0
  const mayGo = (version: MemoryVersion): boolean => keptUntilMs(collection, version) <= nowMs
  for (const range of collection.ranges) {
    if (items >= maxItems) break
    const removed = range.versions.removeOldest(maxItems - items, mayGo)
    const last = removed.at(-1)
    if (last === undefined) continue
    range.raiseHorizon('allVersions', { range: FULL_RANGE, lsn: last.lsn, stamp })
    items += removed.length
  }
  const more = collection.ranges.some((range) => {
    const next = nextTrimMs(collection, range)
    return next !== undefined && next <= nowMs
  })
  return { items, more }
}

/** When the next entry of a range's log can be removed; undefined when there is none. */
export function nextTrimMs(collection: MemoryCollection, range: MemoryRange): number | undefined {
  for (const version of range.versions.after(0)) return keptUntilMs(collection, version)
  return undefined
}

/** Moves inherited rows of one range into its own segments; does nothing when the range is gone. */
export function fold(
  collection: MemoryCollection,
  { number, maxItems }: { readonly number: number; readonly maxItems: number },
): UpkeepResult {
  const range = collection.ranges.find(({ record }) => record.number === number)
  if (range === undefined) return { items: 0, more: false }
  let items = 0
  for (const rows of [range.rows, range.versions]) {
    if (items < maxItems && rows.isInherited) items += rows.fold(maxItems - items)
  }
  return { items, more: range.rows.isInherited || range.versions.isInherited }
}

/** Gives each document an LSN of its own, then wakes readers of their ranges. */
function expireAll(collection: MemoryCollection, rows: readonly MemoryRow[], nowMs: number): void {
  const touched = new Set<MemoryRange>()
  for (const row of rows) {
    const range = collection.rangeOfEpk(row.epk)
    touched.add(range)
    const expiredAt = collection.expiredSecond(row, nowMs)
    expireDocument(collection, { row, expiredAt }, { lsn: range.lsn + 1, timeMs: nowMs })
  }
  for (const range of touched) range.waiters.committed(range.lsn)
}

function mayPurge(
  collection: MemoryCollection,
  row: MemoryRow | undefined,
  nowMs: number,
): boolean {
  return row !== undefined && retainedUntilMs(collection, row) <= nowMs && isPassed(collection, row)
}

function retainedUntilMs(collection: MemoryCollection, { ts }: MemoryRow): number {
  return (ts + collection.record.definition.pendingDeletes.retentionSeconds) * 1000
}

function isPassed(collection: MemoryCollection, { epk, lsn }: MemoryRow): boolean {
  const { waitFor } = collection.record.definition.pendingDeletes
  return allArePast(waitFor, (group) => collection.positionsOf(group), { epk, lsn })
}

function positionPartOf(collection: MemoryCollection, { epk }: MemoryRow): FeedRange {
  const { waitFor } = collection.record.definition.pendingDeletes
  return positionPart(waitFor, (group) => collection.positionsOf(group), epk)
}

/** At once when the log was switched off. */
function keptUntilMs(collection: MemoryCollection, { commitMs }: MemoryVersion): number {
  const policy = collection.record.definition.allVersions
  return policy === null ? 0 : commitMs + policy.retentionSeconds * 1000
}
