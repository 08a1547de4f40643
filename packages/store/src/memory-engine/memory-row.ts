import type { ScanPosition } from '../engine/document-query.ts'
import type { RowKind } from '../engine/feed-query.ts'
import type { MemorySegment } from './memory-segment.ts'

/** One entry of the feed, and for live documents the document itself. */
export interface MemoryRow extends ScanPosition {
  readonly lsn: number
  readonly kind: RowKind
  /** Epoch seconds. */
  readonly ts: number
  readonly ttl: number
  readonly body: string
  readonly segment: MemorySegment
  /** Where the segment keeps it now; the segment's own business. */
  slot: number
}

/** Text that no other key has: partition key texts are JSON, so that they hold no raw line feed. */
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

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
