import type { ExpiryView, MaintenanceTask } from '../engine/maintenance.ts'
import { nextPurgeMs, nextTrimMs } from './collection-upkeep.ts'
import type { MemoryCollection } from './memory-collection.ts'
import { countExpired } from './query-documents.ts'

/** Background work of one collection. */
export interface DueUpkeep {
  readonly tasks: readonly MaintenanceTask[]
  /** Store time at which more will be due, as far as known. */
  readonly nextDueMs: readonly number[]
}

/** Most urgent first. Tasks of one kind in several collections come together. */
const ORDER: readonly MaintenanceTask['kind'][] = [
  'expiryIndex',
  'sweep',
  'purge',
  'trimVersions',
  'fold',
]

export function byUrgency(a: MaintenanceTask, b: MaintenanceTask): number {
  return ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)
}

/** The work that is due in one collection now, and later. */
export function dueUpkeep(collection: MemoryCollection, nowMs: number): DueUpkeep {
  const { record, documents, ranges } = collection
  const tasks: MaintenanceTask[] = []
  const nextDueMs: number[] = []
  const second = Math.floor(nowMs / 1000)
  if (record.ttlEras.length > 0) tasks.push({ kind: 'expiryIndex', collection: record })
  else if (documents.anyDueBy(second)) tasks.push({ kind: 'sweep', collection: record })
  const expiry = nextExpiryMs(collection, nowMs)
  if (expiry !== undefined) nextDueMs.push(expiry)
  const kinds = { purge: nextPurgeMs, trimVersions: nextTrimMs } as const
  for (const kind of ['purge', 'trimVersions'] as const) {
    const times = ranges.flatMap((range) => kinds[kind](collection, range) ?? [])
    if (times.some((time) => time <= nowMs)) tasks.push({ kind, collection: record })
    nextDueMs.push(...times.filter((time) => time > nowMs))
  }
  for (const range of ranges) {
    if (!range.rows.isInherited && !range.versions.isInherited) continue
    tasks.push({ kind: 'fold', collection: record, range: range.record.number })
  }
  return { tasks, nextDueMs }
}

/** What expires when in one collection. */
export function expiryView(
  collection: MemoryCollection,
  { nowMs, withinSeconds }: { readonly nowMs: number; readonly withinSeconds: readonly number[] },
): ExpiryView {
  const { documents, ranges, record } = collection
  const expiring = withinSeconds.map(() => 0)
  let withExpiry = 0
  for (const row of documents.expiringFrom(Math.floor(nowMs / 1000) + 1)) {
    if (collection.expiredSecond(row, nowMs) !== 0) continue
    withExpiry++
    for (const [index, seconds] of withinSeconds.entries()) {
      if (row.expirySecond * 1000 <= nowMs + seconds * 1000)
        expiring[index] = (expiring[index] ?? 0) + 1
    }
  }
  return {
    nowMs,
    expiring,
    withExpiry,
    unswept: countExpired(collection, nowMs),
    pendingDeletes: ranges.reduce((sum, { pending }) => sum + pending.length, 0),
    nextExpiryMs: nextExpiryMs(collection, nowMs),
    horizons: ranges.flatMap((range) => range.horizons('latestVersion')),
    isReindexing: record.ttlEras.length > 0,
  }
}

function nextExpiryMs(collection: MemoryCollection, nowMs: number): number | undefined {
  for (const row of collection.documents.expiringFrom(Math.floor(nowMs / 1000) + 1)) {
    if (collection.expiredSecond(row, nowMs) === 0) return row.expirySecond * 1000
  }
  return undefined
}
