import type { FeedRange } from '@tidemark/contracts'
import type { DocumentVersion } from '@tidemark/contracts/internal'
import type { CollectionRecord } from './catalog.ts'

export interface DocumentKey {
  readonly collection: CollectionRecord
  readonly epk: string
  readonly partitionKey: string
  readonly id: string
}

export interface ScanPosition {
  readonly epk: string
  readonly partitionKey: string
  readonly id: string
}

export interface ScanQuery {
  readonly collection: CollectionRecord
  readonly range: FeedRange
  /** Only this partition key value; `range` is then that of its one EPK. */
  readonly partitionKey?: string | undefined
  /** Continues right after this key. */
  readonly after?: ScanPosition | undefined
  /** Infinity with a partition key: all of it in one snapshot, however many turns of the event loop that takes. */
  readonly maxItems: number
  /** A page ends after the row that reaches this many characters. */
  readonly maxChars: number
  /** As of `FeedPageQuery`. */
  readonly signal?: AbortSignal | undefined
}

export interface ScanPage {
  readonly versions: readonly DocumentVersion[]
  /** Undefined when nothing follows. */
  readonly next: ScanPosition | undefined
}
