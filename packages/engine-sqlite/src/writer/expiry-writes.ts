import { rangeOfEpk } from '@tidemark/store/engine'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { sequenceNumber, type OpenSegments } from './open-segments.ts'
import { releaseEntries } from './unique-entry-rows.ts'
import type { TouchedRange } from './writer-messages.ts'

/** A live row that has expired. */
export interface ExpiredRow {
  readonly collection: CollectionRow
  readonly epk: string
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
export function writePendingDelete(
  {
    connection,
    segments,
    timeMs,
  }: {
    readonly connection: Connection
    readonly segments: OpenSegments
    /** The store's clock, epoch ms. */
    readonly timeMs: number
  },
  { collection, epk, seq, second }: ExpiredRow,
): TouchedRange {
  const range = rangeOfEpk(collection.ranges, epk)
  const segment = segments.get(range.segment)
  const lsn = segment.lsn + 1
  const moved = sequenceNumber(segment.id, lsn - segment.base)
  const { allVersions } = collection.record.definition
  if (allVersions !== null) {
    connection.run(LOG_EXPIRY, moved, lsn, timeMs, allVersions.previousImages ? 1 : 0, seq)
  }
  if (collection.record.definition.uniqueKeys !== undefined) releaseEntries(connection, seq)
  connection.run(MOVE, moved, lsn, Math.floor(timeMs / 1000), second, seq)
  segment.lsn = lsn
  segment.changed = true
  return { collection: collection.record.number, range: range.number, lsn }
}
