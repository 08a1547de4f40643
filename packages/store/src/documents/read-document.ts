import {
  type DocumentBody,
  type PartitionKey,
  type ReadOptions,
  type ReadResult,
  type RequestOptions,
  type Stored,
} from '@tidemark/contracts'
import { documentEtag, type DocumentVersion } from '@tidemark/contracts/internal'
import { checkedDocumentId } from '../catalog/resource-names.ts'
import { singleEpkRange } from '../engine/range-lookup.ts'
import { readRow, type OpenCollection } from './open-collection.ts'

/** A document that was not decoded, for callers that only forward it. */
export interface ReadTextResult {
  /** JSON text, system properties included. Undefined when there is no such document, or it was not modified. */
  readonly text: string | undefined
  /** Of the present version; undefined when there is none. */
  readonly etag: string | undefined
  readonly lsn: number | undefined
  readonly notModified: boolean
  /** The store's clock at the read, epoch ms. */
  readonly serverTimeMs: number
}

/** One document by its key. */
export async function readDocument<T extends DocumentBody>(
  open: OpenCollection,
  key: { readonly id: string; readonly partitionKey: PartitionKey },
  options: ReadOptions,
): Promise<ReadResult<T>> {
  const { version, notModified, serverTimeMs } = await readVersion(open, key, options)
  const document = version && open.stamp.document<T>(version)
  return { document, notModified, serverTimeMs }
}

/** As `readDocument`, not parsed. */
export async function readDocumentText(
  open: OpenCollection,
  key: { readonly id: string; readonly partitionKey: PartitionKey },
  options: ReadOptions,
): Promise<ReadTextResult> {
  const { version, ...read } = await readVersion(open, key, options)
  return { text: version && open.stamp.text(version), ...read }
}

async function readVersion(
  open: OpenCollection,
  key: { readonly id: string; readonly partitionKey: PartitionKey },
  { ifNoneMatch }: ReadOptions,
): Promise<Omit<ReadTextResult, 'text'> & { readonly version: DocumentVersion | undefined }> {
  const row = await readRow(
    open,
    open.encoder.encodeKey(key.partitionKey),
    checkedDocumentId(key.id),
  )
  const serverTimeMs = open.engine.nowMs()
  const etag = row && documentEtag(open.record.number, row.lsn)
  const notModified =
    etag !== undefined && ifNoneMatch !== undefined && (ifNoneMatch === '*' || ifNoneMatch === etag)
  const version = notModified ? undefined : row
  return { version, etag, lsn: row?.lsn, notModified, serverTimeMs }
}

/** All documents of one partition key value, in one snapshot. */
export async function readPartition<T extends DocumentBody>(
  open: OpenCollection,
  partitionKey: PartitionKey,
  options: RequestOptions,
): Promise<{ readonly documents: readonly Stored<T>[]; readonly serverTimeMs: number }> {
  const { versions, serverTimeMs } = await scanPartition(open, partitionKey, options)
  return {
    documents: await inTurns(open, versions, (each) => open.stamp.document<T>(each)),
    serverTimeMs,
  }
}

/**
 * As `Collection.readPartition`, with documents as JSON text.
 *
 * @param options.maxChars of text, about; `isWhole` is false if there are more. @default no limit
 */
export async function readPartitionText(
  open: OpenCollection,
  partitionKey: PartitionKey,
  options: RequestOptions & { readonly maxChars?: number } = {},
): Promise<{
  readonly bodies: readonly string[]
  readonly isWhole: boolean
  readonly serverTimeMs: number
}> {
  const { versions, ...read } = await scanPartition(open, partitionKey, options)
  return { bodies: await inTurns(open, versions, (each) => open.stamp.text(each)), ...read }
}

async function scanPartition(
  { engine, encoder, record }: OpenCollection,
  partitionKey: PartitionKey,
  { maxChars = Infinity, signal }: RequestOptions & { readonly maxChars?: number },
): Promise<{
  readonly versions: readonly DocumentVersion[]
  readonly isWhole: boolean
  readonly serverTimeMs: number
}> {
  const { epk, text } = encoder.encodeKey(partitionKey)
  const { versions, next } = await engine.scan({
    collection: record,
    range: singleEpkRange(epk),
    partitionKey: text,
    maxItems: Infinity,
    maxChars,
    signal,
  })
  return { versions, isWhole: next === undefined, serverTimeMs: engine.nowMs() }
}

/** One after the other, with turns of the event loop in between. */
async function inTurns<Item>(
  { turns }: OpenCollection,
  versions: readonly DocumentVersion[],
  make: (version: DocumentVersion) => Item,
): Promise<readonly Item[]> {
  const items: Item[] = []
  for (const version of versions) {
    if (turns.due) await turns.take()
    turns.spend(version.body.length)
    items.push(make(version))
  }
  return items
}
