import type { FeedRange } from '@tidemark/contracts'
import type { CollectionRecord } from './catalog.ts'

export type RowKind = 0 | 1
/** Kinds of rows in the feed's table. */
export const LIVE_ROW: RowKind = 0
export const PENDING_DELETE_ROW: RowKind = 1

export interface FeedPageQuery {
  readonly collection: CollectionRecord
  readonly range: FeedRange
  readonly afterLsn: number
  /** At most so many rows, exceeded only to keep one transaction whole. */
  readonly maxItems: number
  /** A page ends after the transaction that reaches this many characters of body text. */
  readonly maxChars: number
}

/** `[lsn, kind, body]`: an array because that is what drivers give fastest. */
export type FeedRow = readonly [lsn: number, kind: RowKind, body: string]

export interface EngineFeedPage {
  readonly rows: readonly FeedRow[]
  /**
   * Everything up to this LSN was delivered or does not concern the range. With rows, the last row's
   * LSN (CF-7); without, the range's newest, or where the page stopped looking. The range's newest
   * also when `afterLsn` is above it: the store refuses such a position, which would skip changes.
   */
  readonly lsn: number
  readonly epoch: number
  /** True when `lsn` is the range's newest. */
  readonly caughtUp: boolean
}

export type FeedStart =
  | { readonly kind: 'beginning' }
  | { readonly kind: 'now' }
  /** Before the first row whose `ts` (epoch seconds) is at least this; now if there is none. */
  | { readonly kind: 'time'; readonly ts: number }

export interface RangeCounter {
  readonly lsn: number
  readonly epoch: number
}
