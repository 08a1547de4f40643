import type { StorePlace } from './store-place.ts'

/** What the children of a crash run are started with and tell. */

export interface WriterTask {
  readonly place: StorePlace
  readonly seed: number
  readonly round: number
  readonly lanes: readonly number[]
  /** Where acknowledgements go. */
  readonly log: string
}

/** Writer to parent, once every lane has begun. */
export type WriterMessage = { readonly kind: 'writing' }

export interface FollowerTask {
  readonly place: StorePlace
}

export type FollowerMessage =
  | { readonly kind: 'following' }
  | {
      readonly kind: 'followed'
      /** Newest version and LSN of each document it saw. */
      readonly seen: readonly (readonly [key: string, version: string, lsn: number])[]
      readonly changes: number
      /** Where it stopped. */
      readonly continuation: string
      /** What was not in order. */
      readonly faults: readonly string[]
    }
