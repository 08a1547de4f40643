import {
  pendingDeleteAging,
  removableRows,
  versionAging,
  type Aging,
  type AgingTimes,
} from './aging.ts'
import type { CollectionRecord } from './catalog.ts'
import type { PositionList } from './group-positions.ts'
import type { MaintenanceTask, MaintenanceView } from './maintenance.ts'
import { planFold, sharedSegments, type FoldableSegment } from './plan-fold.ts'

/** What determines whether there is background work in one collection, in one snapshot. */
export interface MaintenanceFacts<Segment extends FoldableSegment> {
  readonly record: CollectionRecord
  /** True after a change of `defaultTtl`, until every document was examined. */
  readonly isReindexing: boolean
  /** Second at which the first document in the index of expiry expires. */
  readonly firstExpiry: number | undefined
  /**
   * Of each range, the pending deletes with the lowest LSN, which go together or not at all. Not read further than to the
   * first range that has something to remove.
   */
  readonly lowestPending: Iterable<readonly AgingTimes[]>
  /** Of the groups that pending deletes wait for. */
  readonly positions: ReadonlyMap<string, PositionList>
  /** False: the log has no entries of this collection. */
  readonly isLogged: boolean
  /** As `lowestPending`, of the log. */
  readonly lowestVersions: Iterable<readonly AgingTimes[]>
  readonly ranges: readonly { readonly number: number; readonly segments: readonly Segment[] }[]
}

/** Most urgent first: expired documents are out of sight already, so what remains only costs space and time. */
const ORDER: readonly MaintenanceTask['kind'][] = [
  'expiryIndex',
  'sweep',
  'purge',
  'trimVersions',
  'fold',
]

interface Due {
  readonly task?: MaintenanceTask
  /** Store time at which something will be due. */
  readonly dueMs?: number | undefined
}

/** The work that is due in a database, and when more will be. Tasks of one kind in several collections come together. */
export function dueMaintenance<Segment extends FoldableSegment>(
  collections: Iterable<MaintenanceFacts<Segment>>,
  { nowMs, isFolded }: { readonly nowMs: number; readonly isFolded: (segment: Segment) => boolean },
): Pick<MaintenanceView, 'tasks' | 'nextDueMs'> {
  const tasks: MaintenanceTask[] = []
  let nextDueMs = Infinity
  for (const facts of collections) {
    for (const { task, dueMs } of [expiry(facts, nowMs), purge(facts, nowMs), trim(facts, nowMs)]) {
      if (task !== undefined) tasks.push(task)
      nextDueMs = Math.min(nextDueMs, dueMs ?? Infinity)
    }
    tasks.push(...folds(facts, isFolded))
  }
  return {
    tasks: tasks.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)),
    nextDueMs: nextDueMs === Infinity ? undefined : nextDueMs,
  }
}

function expiry(
  { record, isReindexing, firstExpiry }: MaintenanceFacts<FoldableSegment>,
  nowMs: number,
): Due {
  // Until the index is exact again, it may name documents that have not expired.
  if (isReindexing) return { task: { kind: 'expiryIndex', collection: record } }
  if (record.definition.defaultTtl === null || firstExpiry === undefined) return {}
  const dueMs = firstExpiry * 1000
  return dueMs <= nowMs ? { task: { kind: 'sweep', collection: record } } : { dueMs }
}

function purge(
  { record, lowestPending, positions }: MaintenanceFacts<FoldableSegment>,
  nowMs: number,
): Due {
  const aging = pendingDeleteAging(record, { positions, nowMs })
  return whenAged(aging, lowestPending, { kind: 'purge', collection: record })
}

function trim(
  { record, isLogged, lowestVersions }: MaintenanceFacts<FoldableSegment>,
  nowMs: number,
): Due {
  if (!isLogged) return {}
  const task = { kind: 'trimVersions', collection: record } as const
  // Also without entries: then it is noted that the log has none.
  if (record.definition.allVersions === null) return { task }
  return whenAged(versionAging(record, nowMs), lowestVersions, task)
}

function whenAged(
  aging: Aging,
  lowest: Iterable<readonly AgingTimes[]>,
  task: MaintenanceTask,
): Due {
  let dueMs = Infinity
  for (const rows of lowest) {
    if (removableRows(rows, aging, 1).length > 0) return { task }
    const allMs = rows.map((row) => aging.dueMs(row) ?? Infinity)
    if (rows.length > 0) dueMs = Math.min(dueMs, Math.max(...allMs))
  }
  return { dueMs }
}

function folds<Segment extends FoldableSegment>(
  { record, ranges }: MaintenanceFacts<Segment>,
  isFolded: (segment: Segment) => boolean,
): readonly MaintenanceTask[] {
  if (ranges.every(({ segments }) => segments.length === 1)) return []
  const options = { shared: sharedSegments(ranges), isFolded }
  return ranges
    .filter(({ segments }) => planFold(segments, options) !== undefined)
    .map(({ number: range }) => ({ kind: 'fold', collection: record, range }))
}
