import type {
  DocumentBody,
  PartitionKey,
  ReadOptions,
  ReadResult,
  Stored,
} from '@tidemark/contracts'
import { checkedDocumentId } from '../catalog/resource-names.ts'
import { singleEpkRange } from '../engine/range-lookup.ts'
import { documentEtag } from '../engine/stored-body.ts'
import { readRow, type OpenCollection } from './open-collection.ts'
import { parseStored } from './stored-document.ts'

/** More than any partition holds; a number that every engine takes as a limit. */
const WHOLE_PARTITION = 2_000_000_000

/** One document by its key. */
export async function readDocument<T extends DocumentBody>(
  open: OpenCollection,
  key: { readonly id: string; readonly partitionKey: PartitionKey },
  { ifNoneMatch }: ReadOptions,
): Promise<ReadResult<T>> {
  const row = await readRow(
    open,
    open.encoder.encodeKey(key.partitionKey),
    checkedDocumentId(key.id),
  )
  const serverTimeMs = open.engine.nowMs()
  const notModified =
    row !== undefined &&
    ifNoneMatch !== undefined &&
    (ifNoneMatch === '*' || ifNoneMatch === documentEtag(open.record.number, row.lsn))
  const document = row && !notModified ? parseStored<T>(row.body) : undefined
  return { document, notModified, serverTimeMs }
}

/** All documents of one partition key value, in one snapshot. */
export async function readPartition<T extends DocumentBody>(
  { engine, encoder, record }: OpenCollection,
  partitionKey: PartitionKey,
): Promise<{ readonly documents: readonly Stored<T>[]; readonly serverTimeMs: number }> {
  const { epk, text } = encoder.encodeKey(partitionKey)
  const { bodies } = await engine.scan({
    collection: record,
    range: singleEpkRange(epk),
    partitionKey: text,
    maxItems: WHOLE_PARTITION,
    maxChars: WHOLE_PARTITION,
  })
  return { documents: bodies.map((body) => parseStored<T>(body)), serverTimeMs: engine.nowMs() }
}
