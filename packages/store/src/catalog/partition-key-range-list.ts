import { pkRangeId, type PartitionKeyRange } from '@tidemark/contracts'
import type { CollectionRecord, RangeRecord } from '../engine/catalog.ts'
import { collectionSelfLink, ridBytes, ridText } from '../engine/resource-ids.ts'

/** Marks the rid of a pkrange. In a document's rid, the hash is here. */
const RANGE_MARK = 0x50

/** A pkrange as ReadPartitionKeyRanges lists it (ST-7). */
export function partitionKeyRange(
  range: RangeRecord,
  { rid, number }: CollectionRecord,
): PartitionKeyRange {
  const bytes = Buffer.alloc(16)
  ridBytes(rid).copy(bytes)
  bytes.writeUInt32LE(range.number, 8)
  bytes[15] = RANGE_MARK
  const rangeRid = ridText(bytes)
  const etag = [number, range.number, range.ts].map((part) => part.toString(16).padStart(8, '0'))
  return {
    id: pkRangeId(String(range.number)),
    minInclusive: range.minInclusive,
    maxExclusive: range.maxExclusive,
    _rid: rangeRid,
    _self: `${collectionSelfLink({ rid })}pkranges/${rangeRid}/`,
    _etag: `"${etag.join('-')}"`,
    _ts: range.ts,
    parents: range.parents.map((parent) => pkRangeId(String(parent))),
    status: 'online',
  }
}
