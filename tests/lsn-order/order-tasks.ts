/** What the processes of a run are started with and tell. */

export type FeedName = 'tidemark' | 'sequence'

export interface FeedPlace {
  readonly feed: FeedName
  /** Of the database; its `application_name` says whose connections those are. */
  readonly url: string
}

export interface OrderWriterTask extends FeedPlace {
  readonly seed: number
  /** Of this process, among all. */
  readonly lanes: readonly number[]
  /** Where acknowledgements go. */
  readonly log: string
}

export interface OrderReaderTask extends FeedPlace {
  readonly seed: number
  /** Sizes of pages while others write, taken by chance. */
  readonly pageSizes: readonly number[]
  /** Where the rows go that it gets. */
  readonly log: string
}

export interface OrderChangerTask extends FeedPlace {
  readonly seed: number
}

export type OrderWriterMessage =
  | { readonly kind: 'started' }
  /** Writes of which it was not told whether they happened. */
  | { readonly kind: 'written'; readonly unknownOutcomes: number }

export type OrderReaderMessage =
  | { readonly kind: 'started' }
  /** `reopened`: how often it started over from a continuation. */
  | { readonly kind: 'caughtUp'; readonly reopened: number }

export type OrderChangerMessage =
  | { readonly kind: 'started' }
  | {
      readonly kind: 'changed'
      readonly splits: number
      readonly merges: number
      /** Rows that were moved out of inherited segments meanwhile. */
      readonly folded: number
      readonly unknownOutcomes: number
    }
