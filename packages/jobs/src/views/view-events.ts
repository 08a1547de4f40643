import type { DeletesUnseen } from '../workers/unseen-deletes.ts'
import type { RangeEventBase, WorkerEvent } from '../workers/job-host.ts'

/** Events of one worker of a view. Branch on `kind`. */
export type ViewEvent =
  | WorkerEvent
  /** A write of this worker was refused because a later owner of the range has written. */
  | ({ readonly kind: 'fenced' } & RangeEventBase)
  /** A batch was applied. Counts as of `ViewCounts`. */
  | ({
      readonly kind: 'applied'
      readonly changes: number
      readonly added: number
      readonly updated: number
      readonly moved: number
      readonly removed: number
      /** Changes that had been applied before. */
      readonly replays: number
    } & RangeEventBase)
  | DeletesUnseen
  /**
   * Deletes or expiries were purged before this view had seen them. `halt`: rebuild it. `resync`: it goes on, and what its
   * source, a collection of a store, does not have any more leaves it; rebuild a view of another source.
   */
  | ({ readonly kind: 'missed'; readonly action: 'halt' | 'resync' } & RangeEventBase)
  /** This worker works on this edition of the view from now on. */
  | {
      readonly kind: 'edition'
      readonly number: number
      readonly version: string
      readonly role: 'current' | 'building'
    }
  /** Readers get this edition from now on. From the worker that made the change. */
  | { readonly kind: 'swapped'; readonly number: number; readonly version: string }
  /** Another version stands behind the name, or the view was dropped: this worker ends. */
  | { readonly kind: 'replaced'; readonly version: string | undefined }
  /** The progress or the record of the view could not be read. The worker retries at the next interval. */
  | { readonly kind: 'failure'; readonly what: 'progress' | 'record'; readonly error: unknown }
