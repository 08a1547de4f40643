import assert from 'node:assert/strict'
import type { FeedRange } from './feed-range.ts'

declare const pkRangeIdBrand: unique symbol

/** Id of a pkrange: durable, unique in its collection, never reused (ST-7). A decimal number as text. */
export type PkRangeId = string & { readonly [pkRangeIdBrand]: never }

/** @throws AssertionError when `value` is not a decimal number */
export function pkRangeId(value: string): PkRangeId {
  assert(/^\d+$/.test(value), `not a pkrange id: ${value}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where a string becomes a PkRangeId
  return value as PkRangeId
}

/** One partition key range of a collection, as ReadPartitionKeyRanges lists it (ST-7). */
export interface PartitionKeyRange extends FeedRange {
  readonly id: PkRangeId
  readonly _rid: string
  readonly _self: string
  readonly _etag: string
  /** Epoch seconds of the last change of this range's metadata. */
  readonly _ts: number
  /** All ancestors, oldest first; empty for a range made with the collection. */
  readonly parents: readonly PkRangeId[]
  readonly status: 'online' | 'splitting' | 'merging'
}
