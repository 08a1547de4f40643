import type { MaintenanceTask } from '../engine/maintenance.ts'
import type { MaintenanceStep } from './database-maintenance.ts'

/** What `store.runMaintenance()` did, summed over all databases. */
export interface MaintenanceReport {
  /** Expired documents that became pending deletes. */
  readonly swept: number
  /** Pending deletes that were removed. */
  readonly purged: number
  /** Entries of logs of all versions that were removed. */
  readonly versionsTrimmed: number
  /** Rows that were moved out of ancestors' segments. */
  readonly folded: number
  /** Documents that were refiled after a change of `defaultTtl`. */
  readonly expiryReindexed: number
  /** Ranges that were split because of their size. */
  readonly rangesSplit: number
  /** Databases that were left out because another store is doing their work. */
  readonly heldElsewhere: readonly HeldElsewhere[]
}

export interface HeldElsewhere {
  readonly databaseId: string
  readonly holder: string
  /** Store time at which the lease ends unless it is renewed, epoch ms. */
  readonly untilMs: number
}

/** Adds up the results of single steps. */
export class MaintenanceTally {
  readonly #items: Record<MaintenanceTask['kind'], number> = {
    sweep: 0,
    purge: 0,
    trimVersions: 0,
    fold: 0,
    expiryIndex: 0,
  }
  readonly #heldElsewhere: HeldElsewhere[] = []
  #rangesSplit = 0

  add(databaseId: string, step: MaintenanceStep): void {
    if (step.kind === 'worked') this.#items[step.work] += step.items
    else if (step.kind === 'sized' && step.wasSplit) this.#rangesSplit += 1
    else if (step.kind === 'held') {
      const { holder, untilMs } = step
      this.#heldElsewhere.push({ databaseId, holder, untilMs })
    }
  }

  report(): MaintenanceReport {
    const { sweep, purge, trimVersions, fold, expiryIndex } = this.#items
    return {
      swept: sweep,
      purged: purge,
      versionsTrimmed: trimVersions,
      folded: fold,
      expiryReindexed: expiryIndex,
      rangesSplit: this.#rangesSplit,
      heldElsewhere: this.#heldElsewhere,
    }
  }
}
