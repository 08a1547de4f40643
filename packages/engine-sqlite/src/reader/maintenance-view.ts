import type { MaintenanceTask, MaintenanceView } from '@tidemark/store'
import { sharedSegments, type CatalogRows, type CollectionRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { readMaintenanceLease } from '../maintenance/maintenance-lease.ts'
import { planFold } from '../maintenance/plan-fold.ts'
import { findPurgeable } from '../maintenance/purge-pending.ts'
import { oldestEntriesMs, versionsKeptFromMs } from '../maintenance/trim-versions.ts'

const FIRST_EXPIRY = `SELECT min(exp) FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0`
/** Segments that one look goes over; the next look goes on behind them. */
const SEGMENTS_A_LOOK = 500

/** What there is to do in a database, and when something more will be. */
export class MaintenanceViews {
  /** Where the next look at a collection's pending deletes begins, by collection. */
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
    const { record } = collection
    const { rows, nextDueSecond, resumeAt } = findPurgeable(connection, collection, {
      nowSecond: Math.floor(nowMs / 1000),
      from: this.#purgeFrom.get(record.number) ?? 0,
      maxItems: 1,
      maxSegments: SEGMENTS_A_LOOK,
    })
    if (rows.length > 0) return { task: { kind: 'purge', collection: record } }
    this.#purgeFrom.set(record.number, resumeAt ?? 0)
    return { dueMs: nextDueSecond && nextDueSecond * 1000 }
  }

  #trim(connection: Connection, collection: CollectionRow, nowMs: number): Found {
    const { record, logged } = collection
    if (!logged) return {}
    const task: MaintenanceTask = { kind: 'trimVersions', collection: record }
    const { allVersions } = record.definition
    if (allVersions === null) return { task }
    const from = this.#trimFrom.get(record.number) ?? 0
    const oldest = oldestEntriesMs(connection, collection, { from, count: SEGMENTS_A_LOOK })
    const first = oldest.reduce((low, ms) => Math.min(low, ms), Infinity)
    if (first <= versionsKeptFromMs(collection, nowMs)) return { task }
    this.#trimFrom.set(record.number, from + SEGMENTS_A_LOOK)
    return { dueMs: first === Infinity ? undefined : first + allVersions.retentionSeconds * 1000 }
  }
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
  /** Store time at which there will be something. */
  readonly dueMs?: number | undefined
}

function folds(collection: CollectionRow): readonly MaintenanceTask[] {
  if (collection.ranges.every(({ segments }) => segments.length === 1)) return []
  const shared = sharedSegments(collection.ranges)
  return collection.ranges
    .filter((range) => planFold(range, shared) !== undefined)
    .map(({ number: range }) => ({ kind: 'fold', collection: collection.record, range }))
}
