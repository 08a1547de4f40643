import { murmur3x64 } from '@tidemark/contracts/internal'
import { ridText } from '../engine/resource-ids.ts'

const encoder = new TextEncoder()

/**
 * The `_rid` of a document: its collection's 8 bytes, then 60 bits of a hash of its key. It is the same for all
 * versions of the document, and is not stored (decision 0002). The high half of the last byte is 0: from it, the
 * clients of the service recognise a document (`CollectionChildResourceType` of their `ResourceId`). With any other
 * value they refuse its `_self`.
 *
 * @param key partition key text, a line feed (which that text cannot contain), and the id
 */
export function documentRid(collectionBytes: Buffer, key: string): string {
  const [high = 0, low = 0] = murmur3x64(encoder.encode(key))
  const bytes = Buffer.allocUnsafe(16)
  collectionBytes.copy(bytes)
  bytes.writeUInt32BE(high, 8)
  bytes.writeUInt32BE((low & 0xffffff0f) >>> 0, 12)
  return ridText(bytes)
}
