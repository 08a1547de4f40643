import {
  lsn as checkedLsn,
  parseFeedRangeId,
  partitionKeyText,
  type Change,
  type DocumentBody,
  type FeedRange,
  type PartitionKey,
  type StartPosition,
  type Stored,
} from '@tidemark/contracts'
import { keyComponents, parsePartitionKeyText } from '@tidemark/contracts/internal'
import type { Collection } from '@tidemark/store'
import { keyReader } from '../../inspection/document-key.ts'
import { startOf } from '../../platform/start-of.ts'
import { shown, type Query } from '../requests/query.ts'
import { badRequest, notFound } from '../requests/refusal.ts'
import type { CollectionQuery, DocumentRow, DocumentsAnswer } from '../views.ts'
import { collectionOf, existing, type DashboardContext } from './dashboard-context.ts'
import { documentOf } from './letters-view.ts'
import type { MaskedTexts } from './masked-text.ts'

const PAGE = 100

/** Rejects with ERR_BAD_REQUEST, ERR_NOT_FOUND, ERR_INVALID_CONTINUATION, ERR_HORIZON_PASSED. */
export async function readDocuments(
  { store, texts }: DashboardContext,
  query: Query,
): Promise<DocumentsAnswer> {
  const place = collectionOf(query)
  const collection = await existing(store, place)
  const [id, keyText, from] = [query.optional('id'), query.optional('key'), query.optional('from')]
  const continuation = query.optional('continuation')
  const range = await rangeOf(collection, query.optional('range'))
  if (from !== undefined) {
    if (id !== undefined || keyText !== undefined) {
      throw badRequest('from goes with range, not with id or key')
    }
    const start =
      continuation === undefined ? await startIn(collection, { from, range }) : undefined
    return readChanges(collection, {
      from: start ?? { continuation: continuation ?? '' },
      range,
      rowOf: (change) => changeRow(change, { place, texts }),
    })
  }
  const { definition } = await collection.readRecord()
  const key = keyReader(definition.partitionKey)
  const rowOf = (document: Stored<DocumentBody>): DocumentRow =>
    documentRow(document, { place, texts, key })
  const partitionKey = keyText === undefined ? undefined : keyOf(keyText)
  if (id !== undefined) {
    if (partitionKey === undefined) throw badRequest('id needs key')
    const { document } = await collection.read(id, partitionKey)
    return { documents: document ? [rowOf(document)] : [], continuation: null, caughtUp: true }
  }
  if (partitionKey !== undefined && range !== undefined) {
    throw badRequest('give key or range, not both')
  }
  const page = await collection.readDocuments({
    partitionKey,
    range,
    continuation,
    maxItemCount: PAGE,
  })
  return {
    documents: page.documents.map(rowOf),
    continuation: page.continuation ?? null,
    caughtUp: page.continuation === undefined,
  }
}

/** The keys of a pkrange by its id, or of `min-max`. Rejects with ERR_BAD_REQUEST, ERR_NOT_FOUND. */
export async function rangeOf(
  collection: Collection,
  text: string | undefined,
): Promise<FeedRange | undefined> {
  if (text === undefined) return undefined
  const range = parseFeedRangeId(text.toUpperCase())
  if (range !== undefined) return range
  if (!/^\d+$/.test(text)) {
    throw badRequest(`range must be the id of a pkrange, or min-max, got ${shown(text)}`)
  }
  const found = (await collection.readFeedRanges()).find(({ id }) => id === text)
  if (found === undefined) throw notFound(`there is no pkrange ${text} now`)
  const { minInclusive, maxExclusive } = found
  return { minInclusive, maxExclusive }
}

/** Where to begin. Rejects with ERR_BAD_REQUEST, ERR_INVALID_CONTINUATION. */
export async function startIn(
  collection: Collection,
  { from, range }: { readonly from: string; readonly range: FeedRange | undefined },
): Promise<StartPosition> {
  const [, digits] = /^lsn:(\d{1,15})$/.exec(from) ?? []
  if (digits === undefined) {
    const start = startOf(from)
    if (start !== undefined) return start
    throw badRequest(`from must be beginning, now, a time or lsn:NUMBER, got ${shown(from)}`)
  }
  if (range === undefined) throw badRequest('from=lsn:NUMBER needs range')
  // The position before it: the change with this LSN comes, too.
  const before = checkedLsn(Math.max(0, Number(digits) - 1))
  return { continuation: (await collection.positionAt({ range, lsn: before })).continuation }
}

export function changeRow(
  change: Change,
  { place, texts }: { readonly place: CollectionQuery; readonly texts: MaskedTexts },
): DocumentRow {
  const { kind, id, lsn, partitionKey } = change
  const key = partitionKeyText(keyComponents(partitionKey))
  const value = documentOf(change)
  const text =
    value === undefined
      ? { text: null, isCut: false }
      : texts.json(value, { kind: 'document', ...place })
  return {
    id: `${lsn}/${key}/${id}`,
    kind: kind === 'version' ? change.operationType : kind,
    documentId: id,
    key,
    lsn,
    changedMs: kind === 'version' ? change.crts : change.committedAtMs,
    ...text,
  }
}

async function readChanges(
  collection: Collection,
  {
    from,
    range,
    rowOf,
  }: {
    readonly from: StartPosition
    readonly range: FeedRange | undefined
    readonly rowOf: (change: Change) => DocumentRow
  },
): Promise<DocumentsAnswer> {
  const documents: DocumentRow[] = []
  let continuation: string | null = null
  let caughtUp = false
  const pages = collection.changes({ from, range, maxItemCount: PAGE, follow: false })
  for await (const page of pages) {
    documents.push(...page.changes.map(rowOf))
    ;({ continuation, caughtUp } = page)
    if (documents.length > 0) break
  }
  return { documents, continuation, caughtUp }
}

function documentRow(
  document: Stored<DocumentBody>,
  {
    place,
    texts,
    key,
  }: {
    readonly place: CollectionQuery
    readonly texts: MaskedTexts
    readonly key: ReturnType<typeof keyReader>
  },
): DocumentRow {
  const { id, _lsn: lsn, _ts: ts } = document
  const keyText = partitionKeyText(key(document))
  return {
    id: `${keyText}/${id}`,
    kind: 'document',
    documentId: id,
    key: keyText,
    lsn,
    changedMs: ts * 1_000,
    ...texts.json(document, { kind: 'document', ...place }),
  }
}

/** @throws ERR_BAD_REQUEST */
function keyOf(text: string): PartitionKey {
  try {
    return parsePartitionKeyText(/^\s*\[/.test(text) ? text : `[${text}]`)
  } catch {
    throw badRequest(`key must be JSON, such as "text" or ["a", 1], got ${shown(text)}`)
  }
}
