import { partitionKeyText } from '@tidemark/contracts'
import {
  extractPartitionKey,
  partitionKeyPathSegments,
  isJsonRecord,
} from '@tidemark/contracts/internal'
import type { OpenCollection } from '@tidemark/store/engine'

/** Of longer texts version 1 hashes, and keeps in the EPK, the beginning only. */
const V1_MAX_CHARS = 100

/** In canonical text: half a surrogate pair, and the character that UTF-8 puts instead of it. */
const LOST_IN_UTF8 = /\\ud[89a-f]|\ufffd/

/**
 * Whether other partition key values may really have the same EPK: long texts with the same beginning, hashed by
 * version 1, and halves of surrogate pairs, which all become the same UTF-8. (That two values have the same 128-bit hash
 * by chance need not be considered.)
 */
export function mayShareEpk({ record }: OpenCollection, partitionKey: string): boolean {
  const { kind, version } = record.definition.partitionKey
  if (LOST_IN_UTF8.test(partitionKey)) return true
  return kind === 'Hash' && version === 1 && partitionKey.length > V1_MAX_CHARS
}

/** Whether a document has that partition key value, given as canonical text. */
export function isOfPartitionKey(
  { record }: OpenCollection,
  partitionKey: string,
  body: string,
): boolean {
  const document: unknown = JSON.parse(body)
  if (!isJsonRecord(document)) return false
  const paths = record.definition.partitionKey.paths.map(partitionKeyPathSegments)
  return partitionKeyText(extractPartitionKey(document, paths)) === partitionKey
}
