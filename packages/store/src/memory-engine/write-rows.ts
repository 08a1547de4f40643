import {
  type DocumentVersion,
  LIVE_ROW,
  PENDING_DELETE_ROW,
  type VersionRow,
} from '@tidemark/contracts'
import { expirySecond } from '../engine/expiry.ts'
import type { MemoryCollection } from './memory-collection.ts'
import type { MemoryRow } from './memory-row.ts'

/** The moment and place of a write. */
export interface WriteMoment {
  readonly lsn: number
  /** Store clock, epoch ms. */
  readonly timeMs: number
}

/** What is written of a document, besides its key. */
export interface WrittenDocument {
  readonly epk: string
  readonly partitionKey: string
  readonly id: string
  readonly ttl: number
  readonly version: DocumentVersion
}

/** Writes a document, and replaces the one with its key, which must not have expired. */
export function putDocument(
  collection: MemoryCollection,
  { epk, partitionKey, id, ttl, version }: WrittenDocument,
  moment: WriteMoment,
): void {
  const ts = Math.floor(moment.timeMs / 1000)
  const before = collection.documents.read({ partitionKey, id })
  const { defaultTtl } = collection.record.definition
  const row: MemoryRow = {
    epk,
    partitionKey,
    id,
    lsn: moment.lsn,
    kind: LIVE_ROW,
    ts,
    ttl,
    version,
    expirySecond: expirySecond({ ts, ttl }, defaultTtl),
    segment: undefined,
    slot: 0,
  }
  before?.segment?.remove(before)
  collection.documents.put(row)
  collection.rangeOfEpk(epk).rows.append(row)
  const operation = before === undefined ? 'create' : 'replace'
  logVersion(collection, { of: row, operation, current: version, before }, moment)
}

/** Deletes a document that has not expired. */
export function deleteDocument(
  collection: MemoryCollection,
  row: MemoryRow,
  moment: WriteMoment,
): void {
  row.segment?.remove(row)
  collection.documents.delete(row)
  const of = row
  logVersion(collection, { of, operation: 'delete', current: undefined, before: row }, moment)
}

/** Turns a document that expired at `expiredAt` (epoch second) into its pending delete (TTL-13). */
export function expireDocument(
  collection: MemoryCollection,
  { row, expiredAt }: { readonly row: MemoryRow; readonly expiredAt: number },
  moment: WriteMoment,
): void {
  row.segment?.remove(row)
  collection.documents.delete(row)
  collection.heldEntries.release(row)
  const range = collection.rangeOfEpk(row.epk)
  range.lsn = moment.lsn
  range.appendPending({
    ...row,
    lsn: moment.lsn,
    kind: PENDING_DELETE_ROW,
    ts: Math.floor(moment.timeMs / 1000),
    expirySecond: expiredAt,
    segment: undefined,
    slot: 0,
  })
  const of = row
  logVersion(collection, { of, operation: 'expire', current: undefined, before: row }, moment)
}

function logVersion(
  collection: MemoryCollection,
  {
    of: { epk, partitionKey, id },
    operation,
    current,
    before,
  }: {
    readonly of: MemoryRow
    readonly operation: VersionRow['operation']
    readonly current: DocumentVersion | undefined
    readonly before: MemoryRow | undefined
  },
  { lsn, timeMs }: WriteMoment,
): void {
  const policy = collection.record.definition.allVersions
  if (policy === null) return
  const previous = policy.previousImages ? before?.version : undefined
  const key = { epk, partitionKey, id }
  const place = { segment: undefined, slot: 0 }
  const entry = { ...key, lsn, operation, commitMs: timeMs, current, previous, ...place }
  collection.rangeOfEpk(epk).versions.append(entry)
}
