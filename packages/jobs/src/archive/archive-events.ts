import type { RangeEventBase, WorkerEvent } from '../workers/job-host.ts'

/** Events of one worker of an archive. Branch on `kind`. */
export type ArchiveEvent =
  | WorkerEvent
  /** Purges of the source wait for this group from now on. */
  | { readonly kind: 'registered'; readonly group: string }
  /** The sink has these documents; they may be purged once their position is stored. */
  | ({
      readonly kind: 'archived'
      readonly documents: number
      /** Of the last of them. */
      readonly lsn: number
    } & RangeEventBase)
  /**
   * Documents that had expired after `lsn`, up to `horizon`, were purged before they were archived: the group was
   * removed from `waitFor`. `halt`: the range stops; `resync`: it continues with the rest.
   */
  | ({
      readonly kind: 'missed'
      readonly lsn: number
      readonly horizon: number
      readonly action: 'halt' | 'resync'
    } & RangeEventBase)
