import type { FeedRange, PartitionKeyDefinition } from '@tidemark/contracts'

export interface DatabaseRecord {
  readonly id: string
  /** 4 bytes, base64 with `-` for `/`. */
  readonly rid: string
  readonly etag: string
  /** Epoch seconds. */
  readonly ts: number
  /** As `CollectionDefinition.annotation`. */
  readonly annotation?: string | undefined
}

/** What a user defines of a collection, completed and checked by the store. */
export interface CollectionDefinition {
  readonly partitionKey: PartitionKeyDefinition
  /** Null = time to live is off, -1 = on without a default, else seconds. */
  readonly defaultTtl: number | null
  readonly indexingMode: 'consistent' | 'lazy' | 'none'
  readonly pendingDeletes: PendingDeletePolicy
  /** Null = no log of all versions is kept. */
  readonly allVersions: AllVersionsPolicy | null
  /** Bytes of live documents above which a range is split; null = never. */
  readonly splitAboveBytes: number | null
  /** Text that belongs to whoever made the collection, kept with it and never looked at. Absent = none. */
  readonly annotation?: string | undefined
  /** As long as the collection is there. Absent = none. */
  readonly uniqueKeys?: readonly UniqueKey[] | undefined
}

/** Paths at which no two documents of one partition key value have the same values. */
export type UniqueKey = readonly string[]

/** When pending deletes are purged (TTL-14). */
export interface PendingDeletePolicy {
  /** How long a pending delete stays at least, in seconds. */
  readonly retentionSeconds: number
  /** Processor groups that must have come past it. */
  readonly waitFor: readonly string[]
}

/** What all-versions-and-deletes mode keeps (CF-11). */
export interface AllVersionsPolicy {
  readonly retentionSeconds: number
  readonly previousImages: boolean
}

/** A past value of `defaultTtl`: what expired while it was in force stays expired (TTL-18). */
export interface TtlEra {
  readonly defaultTtl: number | null
  /** Store time at which it ended, epoch ms. */
  readonly untilMs: number
}

export interface CollectionRecord {
  readonly id: string
  /** Number in its database, never reused; what rows carry. */
  readonly number: number
  /** 8 bytes (the first 4 of the database), base64 with `-` for `/`. Never reused. */
  readonly rid: string
  /** As it was when this was read; others may have changed it. Only the partition key and unique keys are for ever. */
  readonly definition: CollectionDefinition
  /** Past values whose expired documents are not all pending deletes yet, oldest first. */
  readonly ttlEras: readonly TtlEra[]
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
