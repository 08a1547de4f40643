import type { Checkpoint, CloseReason, FeedRange, HeldLease, Lease } from '@tidemark/contracts'

/** What replaces the lease. */
export type RangeReplacement =
  | { readonly cause: 'split'; readonly ranges: readonly FeedRange[] }
  | { readonly cause: 'restart'; readonly checkpoint: Checkpoint }

/** The pump's side of the lease protocol. */
export interface PumpLink {
  readonly held: HeldLease
  readonly lease: Lease
  readonly generation: string
  mayDispatch(): boolean
  storeCheckpoint(checkpoint: Checkpoint): Promise<void>
  closed(end: {
    readonly checkpoint: Checkpoint | undefined
    readonly reason: CloseReason
    readonly replacement?: RangeReplacement | undefined
  }): void
}
