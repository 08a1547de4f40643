import type { RangeEventBase, WorkerEvent } from '../workers/job-host.ts'
import type { DeletesUnseen } from '../workers/unseen-deletes.ts'

/** Events of one worker of a sync. Branch on `kind`. */
export type SyncEvent =
  | WorkerEvent
  | DeletesUnseen
  /** The sink has these entries. */
  | ({
      readonly kind: 'written'
      readonly entries: number
      /** Of the last entry. */
      readonly lsn: number
    } & RangeEventBase)
  /** Deletes were purged before they were read: what they were of stays in the sink. */
  | ({
      readonly kind: 'missed'
      readonly lsn: number
      /** What was deleted up to here, and not read, is purged. */
      readonly horizon: number
      readonly action: 'halt' | 'resync'
    } & RangeEventBase)
  /** The sink did not answer, or asked for patience. The batch is tried again, and this counts as no failed attempt. */
  | { readonly kind: 'failure'; readonly what: 'sink'; readonly error: unknown }
