import { type DocumentVersion, rangeContainsEpk, type FeedRange } from '@tidemark/contracts'
import type { ScanPage, ScanPosition, ScanQuery } from '../engine/document-query.ts'
import type { MemoryCollection } from './memory-collection.ts'
import type { MemoryRow } from './memory-row.ts'

/** Live documents of a range of keys in key order. */
export function scanDocuments(
  collection: MemoryCollection,
  { range, partitionKey, after, maxItems, maxChars }: ScanQuery,
  nowMs: number,
): ScanPage {
  const versions: DocumentVersion[] = []
  let chars = 0
  let last: ScanPosition | undefined
  const first = { epk: range.minInclusive, partitionKey: partitionKey ?? '', id: '' }
  for (const row of collection.documents.from(after ?? first)) {
    if (row.epk >= range.maxExclusive) break
    if (partitionKey !== undefined && row.partitionKey !== partitionKey) continue
    if (after !== undefined && isKey(row, after)) continue
    if (collection.expiredSecond(row, nowMs) !== 0) continue
    if (versions.length >= maxItems || chars >= maxChars) return { versions, next: last }
    versions.push(row.version)
    chars += row.version.body.length
    last = { epk: row.epk, partitionKey: row.partitionKey, id: row.id }
  }
  return { versions, next: undefined }
}

/** Number of live documents of the whole collection. */
export function countDocuments(collection: MemoryCollection, nowMs: number): number {
  return collection.documents.size - countExpired(collection, nowMs)
}

/** Number of documents that have expired and are not pending deletes yet. */
export function countExpired(collection: MemoryCollection, nowMs: number): number {
  let expired = 0
  if (collection.record.ttlEras.length > 0) {
    for (const row of collection.documents.from()) {
      if (collection.expiredSecond(row, nowMs) !== 0) expired++
    }
    return expired
  }
  const second = Math.floor(nowMs / 1000)
  for (const row of collection.documents.expiringFrom(0)) {
    if (row.expirySecond > second) break
    expired++
  }
  return expired
}

/** The EPK in the middle of a range's documents that leaves at least one document on each side. */
export function middleEpk(
  collection: MemoryCollection,
  range: FeedRange,
  nowMs: number,
): string | undefined {
  const epks = [...rowsOf(collection, range, nowMs)].map(({ epk }) => epk)
  const first = epks[0]
  return epks.slice(Math.floor(epks.length / 2)).find((epk) => epk !== first)
}

/** Documents of a range, and the bytes of their text. */
export function measureRange(
  collection: MemoryCollection,
  range: FeedRange,
  nowMs: number,
): { readonly documents: number; readonly bytes: number } {
  let documents = 0
  let bytes = 0
  for (const { version } of rowsOf(collection, range, nowMs)) {
    documents++
    bytes += Buffer.byteLength(version.body)
  }
  return { documents, bytes }
}

function* rowsOf(
  collection: MemoryCollection,
  range: FeedRange,
  nowMs: number,
): Generator<MemoryRow, void> {
  const first = { epk: range.minInclusive, partitionKey: '', id: '' }
  for (const row of collection.documents.from(first)) {
    if (!rangeContainsEpk(range, row.epk)) return
    if (collection.expiredSecond(row, nowMs) === 0) yield row
  }
}

function isKey(row: MemoryRow, key: ScanPosition): boolean {
  return row.id === key.id && row.partitionKey === key.partitionKey && row.epk === key.epk
}
