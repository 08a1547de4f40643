import type { StorePlace } from '../store-place.ts'

/** What the children of a run with all features are started with and tell. */

export interface FeatureWriterTask {
  readonly place: StorePlace
  readonly seed: number
  readonly round: number
  readonly lanes: readonly number[]
  readonly journal: string
  /** Whether it changes the collection's `defaultTtl`, too: one process at most does. */
  readonly changesTtl: boolean
  /** Between two splits or merges. */
  readonly maxRangePauseMs: number
}

/** Writer to parent, once every lane has begun. */
export type FeatureWriterMessage = { readonly kind: 'writing' }

export interface ArchiveTask {
  readonly place: StorePlace
  /** What it got, over all rounds. */
  readonly journal: string
  /** What it did in the background, in one round. */
  readonly events: string
}

/** Archive to parent. Told anything, it reads to the end, says so and ends. */
export type ArchiveMessage = { readonly kind: 'following' } | { readonly kind: 'caughtUp' }

/** A page that the waiting group got; the last one's continuation is where it goes on. */
export interface ArchivedPage {
  readonly pendingDeletes: readonly {
    readonly key: string
    readonly lsn: number
    readonly version: string
    readonly expiredAtMs: number
  }[]
  readonly continuation: string
}
