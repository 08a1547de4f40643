import type { FeedRange, PartitionKeyDefinition } from '@tidemark/contracts'

export interface DatabaseRecord {
  readonly id: string
  /** 4 bytes, base64 with `-` for `/`. */
  readonly rid: string
  readonly etag: string
  /** Epoch seconds. */
  readonly ts: number
}

/** What a user defines of a collection, completed and checked by the store. */
export interface CollectionDefinition {
  readonly partitionKey: PartitionKeyDefinition
  /** Null = time to live is off, -1 = on without a default, else seconds. */
  readonly defaultTtl: number | null
  readonly indexingMode: 'consistent' | 'lazy' | 'none'
}

export interface CollectionRecord {
  readonly id: string
  /** Number in its database, never reused; what rows carry. */
  readonly number: number
  /** 8 bytes (the first 4 of the database), base64 with `-` for `/`. Never reused. */
  readonly rid: string
  readonly definition: CollectionDefinition
  readonly etag: string
  readonly ts: number
}

export interface RangeRecord extends FeedRange {
  /** Number in its collection, never reused. */
  readonly number: number
  readonly parents: readonly number[]
  /** Segment that takes this range's writes. */
  readonly segment: number
  readonly ts: number
}
