import type { CollectionRecord } from './catalog.ts'
import type { Horizon } from './horizons.ts'

/**
 * A piece of background work. All are idempotent and can be interrupted anywhere.
 *
 * - `expiryIndex`: after a change of `defaultTtl`, examines every document, turns those that expired under
 *   past values into pending deletes and refiles the rest. At the end it forgets the past values.
 * - `sweep`: turns expired documents into pending deletes, the longest expired first, each at its own LSN.
 * - `purge`: removes pending deletes whose retention is over and that every waiting group has passed, in
 *   LSN order, and raises the horizon.
 * - `trimVersions`: removes entries of the log of all versions after their retention, or all entries when the
 *   log was switched off, and raises its horizon.
 * - `fold`: moves rows of the segments that a range inherited into one of its own.
 */
export type MaintenanceTask =
  | {
      readonly kind: 'expiryIndex' | 'sweep' | 'purge' | 'trimVersions'
      readonly collection: CollectionRecord
    }
  | { readonly kind: 'fold'; readonly collection: CollectionRecord; readonly range: number }

export interface MaintenanceView {
  /** What there is to do now, most urgent first. */
  readonly tasks: readonly MaintenanceTask[]
  /** Store time at which more work will be due, epoch ms; undefined when unknown. */
  readonly nextDueMs: number | undefined
  /** The process that does the work at present, and until when at least. */
  readonly holder: { readonly name: string; readonly untilMs: number } | undefined
}

export type MaintenanceOutcome =
  /** Another process does the work, at least until then. */
  | { readonly kind: 'held'; readonly holder: string; readonly untilMs: number }
  | {
      readonly kind: 'done'
      /** Documents, pending deletes, entries or rows that were processed. */
      readonly items: number
      /** True when another call would find more work at once. */
      readonly more: boolean
    }

export interface MaintenanceEngine {
  /** Looks for work without locking anything. Cheap enough to call every second. */
  readMaintenance(): Promise<MaintenanceView>
  /**
   * Does one piece of at most about `maxItems`, in one transaction, after the commits that wait (TTL-5). The same
   * transaction takes or renews the maintenance lease, for `leaseMs` of store time, unless another holder has it.
   * Without a task, it only does that.
   */
  maintain(request: {
    readonly holder: string
    readonly leaseMs: number
    readonly maxItems: number
    readonly task?: MaintenanceTask | undefined
  }): Promise<MaintenanceOutcome>
  /** Releases the maintenance lease, if this holder has it. */
  releaseMaintenance(holder: string): Promise<void>
  /** What expires when. Rejects with ERR_NOT_FOUND. */
  readExpiry(
    collection: CollectionRecord,
    options: {
      /** Upper bounds in seconds from now, ascending, for `expiring`. */
      readonly withinSeconds: readonly number[]
    },
  ): Promise<ExpiryView>
}

export interface ExpiryView {
  /** The store's clock for this view, epoch ms. */
  readonly nowMs: number
  /** Number of live documents that will expire within each of the requested bounds. */
  readonly expiring: readonly number[]
  /** Number of live documents that will expire at any time. */
  readonly withExpiry: number
  /** Number of expired documents that are not pending deletes yet. */
  readonly unswept: number
  readonly pendingDeletes: number
  /** Epoch ms at which the next live document expires. */
  readonly nextExpiryMs: number | undefined
  /** Of pending deletes. */
  readonly horizons: readonly Horizon[]
  /** True while documents are refiled after a change of `defaultTtl`: the numbers may lag. */
  readonly isReindexing: boolean
}
