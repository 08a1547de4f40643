import {
  planFold,
  sharedSegments,
  type MaintenanceTask,
  type MaintenanceView,
} from '@tidemark/store/engine'
import type {
  CatalogRows,
  CollectionRow,
  RangeRow,
  SegmentRow,
} from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { readMaintenanceLease } from '../maintenance/maintenance-lease.ts'
import { oldestRow } from '../maintenance/oldest-rows.ts'
import { hasPendingDeletes, pendingDeleteAging } from '../maintenance/purge-pending.ts'
import { versionsKeptFromMs } from '../maintenance/trim-versions.ts'

const FIRST_EXPIRY = `SELECT min(exp) FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0`
/** Ranges whose oldest rows one look reads. */
const RANGES_A_LOOK = 500

/** The work that is due in a database, and when more will be. */
export class MaintenanceViews {
  /** Index of the range at which the next look at pending deletes begins, by collection. */
  readonly #purgeFrom = new Map<number, number>()
  /** The same for the oldest entries of its log. */
  readonly #trimFrom = new Map<number, number>()

  read(connection: Connection, catalog: CatalogRows, nowMs: number): MaintenanceView {
    const tasks: MaintenanceTask[] = []
    const due: number[] = []
    for (const collection of catalog.collections.values()) {
      const found = [
        this.#expiry(connection, collection, nowMs),
        this.#purge(connection, collection, nowMs),
        this.#trim(connection, collection, nowMs),
      ]
      for (const { task, dueMs } of found) {
        if (task !== undefined) tasks.push(task)
        if (dueMs !== undefined) due.push(dueMs)
      }
      tasks.push(...folds(collection))
    }
    const lease = readMaintenanceLease(connection, nowMs)
    return {
      tasks: tasks.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)),
      nextDueMs: due.length === 0 ? undefined : Math.min(...due),
      holder: lease && { name: lease.holder, untilMs: lease.untilMs },
    }
  }

  #expiry(connection: Connection, collection: CollectionRow, nowMs: number): Found {
    const { record, reindex } = collection
    if (reindex !== undefined) return { task: { kind: 'expiryIndex', collection: record } }
    if (record.definition.defaultTtl === null) return {}
    const first = connection.get(FIRST_EXPIRY, record.number)?.[0]
    if (typeof first !== 'number') return {}
    return first * 1000 <= nowMs
      ? { task: { kind: 'sweep', collection: record } }
      : { dueMs: first * 1000 }
  }

  #purge(connection: Connection, collection: CollectionRow, nowMs: number): Found {
    if (!hasPendingDeletes(connection, collection)) return {}
    const { record } = collection
    const aging = pendingDeleteAging(connection, collection, Math.floor(nowMs / 1000))
    const task: MaintenanceTask = { kind: 'purge', collection: record }
    let dueSecond = Infinity
    for (const range of someOf(collection, this.#purgeFrom)) {
      const place = { kind: aging.kind, collection: record.number }
      const row = oldestRow(connection, range, place)
      if (row === undefined) continue
      if (aging.mayGo(row)) return { task }
      if (aging.isPassed(row)) dueSecond = Math.min(dueSecond, aging.retainedUntil(row))
    }
    return { dueMs: dueSecond === Infinity ? undefined : dueSecond * 1000 }
  }

  #trim(connection: Connection, collection: CollectionRow, nowMs: number): Found {
    const { record, logged } = collection
    if (!logged) return {}
    const task: MaintenanceTask = { kind: 'trimVersions', collection: record }
    const { allVersions } = record.definition
    if (allVersions === null) return { task }
    const keptFromMs = versionsKeptFromMs(collection, nowMs)
    let oldestMs = Infinity
    for (const range of someOf(collection, this.#trimFrom)) {
      const row = oldestRow(connection, range, { kind: 'versions', collection: record.number })
      if (row === undefined) continue
      if (row.writtenAt <= keptFromMs) return { task }
      oldestMs = Math.min(oldestMs, row.writtenAt)
    }
    const dueMs = oldestMs + allVersions.retentionSeconds * 1000
    return { dueMs: oldestMs === Infinity ? undefined : dueMs }
  }
}

/** The ranges of this look. The next look continues after them. */
function someOf(
  { record, ranges }: CollectionRow,
  nextFrom: Map<number, number>,
): readonly RangeRow[] {
  const from = ranges.length <= RANGES_A_LOOK ? 0 : (nextFrom.get(record.number) ?? 0)
  const next = from + RANGES_A_LOOK
  nextFrom.set(record.number, next >= ranges.length ? 0 : next)
  return ranges.slice(from, next)
}

const ORDER: readonly MaintenanceTask['kind'][] = [
  'expiryIndex',
  'sweep',
  'purge',
  'trimVersions',
  'fold',
]

interface Found {
  readonly task?: MaintenanceTask
  /** Store time at which something will be due. */
  readonly dueMs?: number | undefined
}

function folds(collection: CollectionRow): readonly MaintenanceTask[] {
  if (collection.ranges.every(({ segments }) => segments.length === 1)) return []
  const shared = sharedSegments(collection.ranges)
  const options = { shared, isFolded: ({ dense }: SegmentRow) => dense }
  return collection.ranges
    .filter(({ segments }) => planFold(segments, options) !== undefined)
    .map(({ number: range }) => ({ kind: 'fold', collection: collection.record, range }))
}
