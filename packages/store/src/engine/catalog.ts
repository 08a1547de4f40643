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

/** A user's definition of a collection, completed and checked by the store. */
export interface CollectionDefinition {
  readonly partitionKey: PartitionKeyDefinition
  /** Null = time to live is off, -1 = on without a default, else seconds. */
  readonly defaultTtl: number | null
  readonly indexingMode: 'consistent' | 'lazy' | 'none'
  readonly pendingDeletes: PendingDeletePolicy
  /** Null = no log of all versions. */
  readonly allVersions: AllVersionsPolicy | null
  /** Bytes of live documents above which a range is split; null = never. */
  readonly splitAboveBytes: number | null
  /** Text that belongs to the creator of the collection. The store keeps it and never reads it. Absent = none. */
  readonly annotation?: string | undefined
  /** Fixed for the life of the collection. Absent = none. */
  readonly uniqueKeys?: readonly UniqueKey[] | undefined
}

/** Paths at which no two documents of one partition key value have the same values. */
export type UniqueKey = readonly string[]

/** When pending deletes are purged (TTL-14). */
export interface PendingDeletePolicy {
  /** Minimum time in seconds that a pending delete is kept. */
  readonly retentionSeconds: number
  /** Processor groups that must pass it first. */
  readonly waitFor: readonly string[]
}

/** What all-versions-and-deletes mode keeps (CF-11). */
export interface AllVersionsPolicy {
  readonly retentionSeconds: number
  readonly previousImages: boolean
}

/** A past value of `defaultTtl`: a document that expired under it stays expired (TTL-18). */
export interface TtlEra {
  readonly defaultTtl: number | null
  /** Store time at which it ended, epoch ms. */
  readonly untilMs: number
}

export interface CollectionRecord {
  readonly id: string
  /** Number in its database, never reused. Rows carry it. */
  readonly number: number
  /** 8 bytes (the first 4 of the database), base64 with `-` for `/`. Never reused. */
  readonly rid: string
  /** As of this read; other processes can change it. Only the partition key and unique keys never change. */
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
  /** The segment that takes this range's writes. */
  readonly segment: number
  readonly ts: number
}
