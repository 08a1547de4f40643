import { rangeOfEpk } from '@tidemark/store/engine'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { sequenceNumber, type OpenSegment, type OpenSegments } from './open-segments.ts'
import { releaseEntries } from './unique-entry-rows.ts'
import type { TouchedRange } from './writer-messages.ts'

interface ExpiryContext {
  readonly connection: Connection
  /** The store's clock, epoch ms. */
  readonly timeMs: number
}

/** A live row that has expired. */
interface ExpiredRow {
  readonly collection: CollectionRow
  readonly seq: number
  /** Epoch second at which it expired. */
  readonly second: number
}

// The row moves to the feed's end unchanged; its text never leaves SQLite.
const MOVE = `UPDATE doc SET seq = ?, lsn = ?, kind = 1, ts = ?, exp = ?, vlsn = lsn, vts = ts
  WHERE seq = ?`
const LOG_EXPIRY = `INSERT INTO log
  SELECT ?, ?, coll, epk, pk, id, 3, ?, rid, NULL, NULL, lsn, ts, made, iif(?, body, NULL)
  FROM doc WHERE seq = ?`

/** Turns an expired document into a pending delete at the next LSN of its range (TTL-13). */
export function expireDocument(
  context: ExpiryContext & { readonly segments: OpenSegments },
  expired: ExpiredRow & { readonly epk: string },
): TouchedRange {
  const { ranges, record } = expired.collection
  const range = rangeOfEpk(ranges, expired.epk)
  const segment = context.segments.get(range.segment)
  const lsn = segment.lsn + 1
  writePendingDelete(context, expired, { segment, lsn })
  return { collection: record.number, range: range.number, lsn }
}

/** Moves an expired document to the end of the feed, as a pending delete with this LSN. */
export function writePendingDelete(
  { connection, timeMs }: ExpiryContext,
  { collection, seq, second }: ExpiredRow,
  { segment, lsn }: { readonly segment: OpenSegment; readonly lsn: number },
): void {
  const moved = sequenceNumber(segment, lsn)
  const { allVersions, uniqueKeys } = collection.record.definition
  if (allVersions !== null) {
    connection.run(LOG_EXPIRY, moved, lsn, timeMs, allVersions.previousImages ? 1 : 0, seq)
  }
  if (uniqueKeys !== undefined) releaseEntries(connection, seq)
  connection.run(MOVE, moved, lsn, Math.floor(timeMs / 1000), second, seq)
  segment.lsn = lsn
  segment.changed = true
}
