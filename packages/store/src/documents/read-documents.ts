import {
  FULL_RANGE,
  InvalidOptionError,
  feedRangeId,
  parseFeedRangeId,
  rangeContains,
  partitionKeyText,
  type DocumentBody,
  type FeedRange,
  type PartitionKey,
  type RequestOptions,
  type Stored,
} from '@tidemark/contracts'
import {
  epkPrefixRange,
  partitionKeyComponents,
  type DocumentVersion,
} from '@tidemark/contracts/internal'
import { decodePageToken, encodePageToken } from '../paging/page-token.ts'
import type { ScanPosition } from '../engine/document-query.ts'
import { positionWithin, singleEpkRange } from '../engine/range-lookup.ts'
import { MAX_PAGE_CHARS, resolveItemCount } from '../paging/item-count.ts'
import type { OpenCollection } from './open-collection.ts'

export interface ReadDocumentsOptions extends RequestOptions {
  /** Only this interval of keys. @default all of the collection, range after range */
  readonly range?: FeedRange | undefined
  /**
   * Only this partition key value, or the first components of a hierarchical one. `[undefined]` selects documents
   * without the property. Cannot be combined with `range`.
   * @default every value
   */
  readonly partitionKey?: PartitionKey | undefined
  /**
   * Maximum number of documents of a page, which has at most 5000; absent or -1 = the store chooses.
   * @unit documents @range 1 or more; or -1 @default 1000
   */
  readonly maxItemCount?: number | undefined
  /**
   * Of the previous page, read with the same range or partition key value, or with a range that contains this one.
   * @default the first page
   */
  readonly continuation?: string | undefined
}

export interface DocumentsPage<T extends DocumentBody> {
  readonly documents: readonly Stored<T>[]
  /** Undefined on the last page. */
  readonly continuation: string | undefined
}

/** What a page covers: an interval, and optionally one partition key value within it. */
interface Scope {
  readonly text: string
  readonly range: FeedRange
  readonly partitionKey: string | undefined
}

async function scanPage(
  open: OpenCollection,
  options: ReadDocumentsOptions,
): Promise<{
  readonly versions: readonly DocumentVersion[]
  readonly continuation: string | undefined
}> {
  options.signal?.throwIfAborted()
  const { record, engine, turns } = open
  const { text: scope, range, partitionKey } = scopeOf(open, options)
  const owner = {
    list: 'td',
    rid: record.rid,
    scope,
    // A range may have split between two pages.
    takesScope: (text: string) => {
      const wider = partitionKey === undefined ? parseFeedRangeId(text) : undefined
      return wider !== undefined && rangeContains(wider, range)
    },
  } as const
  if (turns.due) await turns.take()
  const page = await engine.scan({
    collection: record,
    range,
    partitionKey,
    after: positionWithin(range, scanPosition(options.continuation, owner)),
    maxItems: resolveItemCount(options.maxItemCount),
    maxChars: MAX_PAGE_CHARS,
    signal: options.signal,
  })
  const { versions, next } = page
  for (const { body } of versions) turns.spend(body.length)
  const continuation = next && encodePageToken(owner, [next.epk, next.partitionKey, next.id])
  return { versions, continuation }
}

/**
 * One page of all current documents, in key order (ST-8). A document that is written between pages may or may not
 * appear. A document that exists throughout appears once.
 *
 * @throws ERR_INVALID_CONTINUATION, ERR_INVALID_OPTION, ERR_INVALID_PARTITION_KEY
 */
export async function readDocuments<T extends DocumentBody>(
  open: OpenCollection,
  options: ReadDocumentsOptions,
): Promise<DocumentsPage<T>> {
  const { versions, continuation } = await scanPage(open, options)
  return { documents: versions.map((each) => open.stamp.document<T>(each)), continuation }
}

/** As `readDocuments`, as JSON text. */
export async function readDocumentTexts(
  open: OpenCollection,
  options: ReadDocumentsOptions,
): Promise<{ readonly bodies: readonly string[]; readonly continuation: string | undefined }> {
  const { versions, continuation } = await scanPage(open, options)
  return { bodies: versions.map((each) => open.stamp.text(each)), continuation }
}

function scopeOf({ encoder, record }: OpenCollection, options: ReadDocumentsOptions): Scope {
  if (options.partitionKey === undefined) {
    const { range = FULL_RANGE } = options
    return { text: feedRangeId(range), range, partitionKey: undefined }
  }
  if (options.range !== undefined) {
    throw new InvalidOptionError('give either range or partitionKey, not both')
  }
  const { partitionKey: value } = options
  const { paths } = record.definition.partitionKey
  const given = Array.isArray(value) ? value.length : 1
  if (paths.length > 1 && given >= 1 && given < paths.length) {
    const components = partitionKeyComponents(value, given)
    const range = epkPrefixRange(components)
    return { text: partitionKeyText(components), range, partitionKey: undefined }
  }
  const { epk, text } = encoder.encodeKey(value)
  return { text, range: singleEpkRange(epk), partitionKey: text }
}

function scanPosition(
  continuation: string | undefined,
  owner: Parameters<typeof decodePageToken>[1],
): ScanPosition | undefined {
  if (continuation === undefined) return undefined
  const [epk = '', partitionKey = '', id = ''] = decodePageToken(continuation, owner, 3)
  return { epk, partitionKey, id }
}
