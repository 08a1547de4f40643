import { assertNever } from '@tidemark/contracts'
import type {
  MaintenanceEngine,
  MaintenanceOutcome,
  MaintenanceTask,
  MaintenanceView,
} from '../engine/maintenance.ts'
import {
  finishEras,
  fold,
  purge,
  sweep,
  trimVersions,
  type UpkeepLimits,
  type UpkeepResult,
} from './collection-upkeep.ts'
import { byUrgency, dueUpkeep } from './due-upkeep.ts'
import { MaintenanceLease } from './maintenance-lease.ts'
import type { MemoryCollection } from './memory-collection.ts'

/** Background work of one database, for one holder at a time. */
export class MemoryMaintenance {
  readonly #lease = new MaintenanceLease()
  readonly #collections: ReadonlyMap<number, MemoryCollection>

  /** @param collections by number; read at each call */
  constructor(collections: ReadonlyMap<number, MemoryCollection>) {
    this.#collections = collections
  }

  read(nowMs: number): MaintenanceView {
    const due = [...this.#collections.values()].map((collection) => dueUpkeep(collection, nowMs))
    const times = due.flatMap(({ nextDueMs }) => nextDueMs)
    return {
      tasks: due.flatMap(({ tasks }) => tasks).toSorted(byUrgency),
      nextDueMs: times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b)),
      holder: this.#lease.holderAt(nowMs),
    }
  }

  perform(
    { holder, leaseMs, maxItems, task }: Parameters<MaintenanceEngine['maintain']>[0],
    nowMs: number,
  ): MaintenanceOutcome {
    const { name, untilMs } = this.#lease.take(holder, { nowMs, leaseMs })
    if (name !== holder) return { kind: 'held', holder: name, untilMs }
    const collection = task && this.#collections.get(task.collection.number)
    // A collection that was deleted meanwhile has nothing left to do.
    if (task === undefined || collection === undefined)
      return { kind: 'done', items: 0, more: false }
    return { kind: 'done', ...performTask(collection, task, { maxItems, nowMs }) }
  }

  release(holder: string): void {
    this.#lease.release(holder)
  }
}

function performTask(
  collection: MemoryCollection,
  task: MaintenanceTask,
  limits: UpkeepLimits,
): UpkeepResult {
  switch (task.kind) {
    case 'expiryIndex':
      return finishEras(collection, limits)
    case 'sweep':
      return sweep(collection, limits)
    case 'purge':
      return purge(collection, limits)
    case 'trimVersions':
      return trimVersions(collection, limits)
    case 'fold':
      return fold(collection, { number: task.range, maxItems: limits.maxItems })
    default:
      return assertNever(task)
  }
}
