import type { CollectionRecord } from './catalog.ts'
import type { Horizon } from './horizons.ts'

/**
 * A piece of background work. All are idempotent and may be cut off anywhere.
 *
 * - `expiryIndex`: `defaultTtl` was changed: looks at every document, turns what expired under past
 *   values into pending deletes and files the rest anew. When it is done the past values are forgotten.
 * - `sweep`: turns expired documents into pending deletes, the longest expired first, each at an LSN of
 *   its own.
 * - `purge`: removes pending deletes whose retention is over and that every group waited for has passed,
 *   in LSN order, and raises the horizon.
 * - `trimVersions`: removes entries of the log of all versions after their retention, or all of them
 *   when it was switched off, and raises its horizon.
 * - `fold`: moves rows of the segments that a range inherited into one of its own.
 */
export type MaintenanceTask =
  | {
      readonly kind: 'expiryIndex' | 'sweep' | 'purge' | 'trimVersions'
      readonly collection: CollectionRecord
    }
  | { readonly kind: 'fold'; readonly collection: CollectionRecord; readonly range: number }

export interface MaintenanceView {
  /** What there is to do now, the most urgent first. */
  readonly tasks: readonly MaintenanceTask[]
  /** Store time at which something more will be due, epoch ms; undefined when nothing is known. */
  readonly nextDueMs: number | undefined
  /** Who does it at present, and until when at least. */
  readonly holder: { readonly name: string; readonly untilMs: number } | undefined
}

export type MaintenanceOutcome =
  /** Somebody else does it until then at least. */
  | { readonly kind: 'held'; readonly holder: string; readonly untilMs: number }
  | {
      readonly kind: 'done'
      /** Documents, pending deletes, entries or rows that were dealt with. */
      readonly items: number
      /** True when another call would find more at once. */
      readonly more: boolean
    }

export interface MaintenanceEngine {
  /** Looks for work without locking anything. Cheap enough for every second. */
  readMaintenance(): Promise<MaintenanceView>
  /**
   * Does one piece of at most about `maxItems`, in one transaction, after the commits that wait (TTL-5).
   * The same transaction takes or renews the right to do so, for `leaseMs` of store time, unless another
   * holder has it. Without a task only that.
   */
  maintain(request: {
    readonly holder: string
    readonly leaseMs: number
    readonly maxItems: number
    readonly task?: MaintenanceTask | undefined
  }): Promise<MaintenanceOutcome>
  /** Gives the right back, if this holder has it. */
  releaseMaintenance(holder: string): Promise<void>
  /** What expires when. Rejects with ERR_NOT_FOUND. */
  readExpiry(
    collection: CollectionRecord,
    options: {
      /** Upper bounds in seconds from now, rising, for `expiring`. */
      readonly withinSeconds: readonly number[]
    },
  ): Promise<ExpiryView>
}

export interface ExpiryView {
  /** Store clock of this view, epoch ms. */
  readonly nowMs: number
  /** Live documents that will expire within each of the bounds asked for. */
  readonly expiring: readonly number[]
  /** Live documents that will expire at any time. */
  readonly withExpiry: number
  /** Expired documents that are no pending deletes yet. */
  readonly unswept: number
  readonly pendingDeletes: number
  /** Epoch ms at which the next live document expires. */
  readonly nextExpiryMs: number | undefined
  /** Of pending deletes. */
  readonly horizons: readonly Horizon[]
  /** True while documents are filed anew after a change of `defaultTtl`: the numbers may lag. */
  readonly isReindexing: boolean
}
