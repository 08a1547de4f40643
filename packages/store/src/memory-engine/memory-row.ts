import type { DocumentVersion, RowKind, VersionRow } from '@tidemark/contracts'
import type { ScanPosition } from '../engine/document-query.ts'
import type { SegmentRow } from './memory-segment.ts'

/** One entry of the feed, and for live documents the document itself. */
export interface MemoryRow extends ScanPosition, SegmentRow {
  readonly kind: RowKind
  /** Epoch seconds. */
  readonly ts: number
  readonly ttl: number
  /** What the text says; of a pending delete, the last version. */
  readonly version: DocumentVersion
  /**
   * Epoch second at which a live document expires under the present `defaultTtl` (0 = never), or at which the document
   * of a pending delete expired.
   */
  expirySecond: number
}

/** One entry of the log of all versions. */
export interface MemoryVersion extends VersionRow, SegmentRow {}

/** A document's position in the order of expiry. */
export interface ExpiryPosition extends ScanPosition {
  readonly expirySecond: number
}

/** A text that no other key has. Partition key texts are JSON, so they contain no raw line feed. */
export function rowKey(key: { readonly partitionKey: string; readonly id: string }): string {
  return `${key.partitionKey}\n${key.id}`
}

/** Order of scans: EPK, then partition key text, then id, each as text. */
export function compareKeys(a: ScanPosition, b: ScanPosition): number {
  return (
    compareText(a.epk, b.epk) ||
    compareText(a.partitionKey, b.partitionKey) ||
    compareText(a.id, b.id)
  )
}

/** Order of the sweep: the longest expired first. */
export function compareExpiry(a: ExpiryPosition, b: ExpiryPosition): number {
  return a.expirySecond - b.expirySecond || compareKeys(a, b)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
