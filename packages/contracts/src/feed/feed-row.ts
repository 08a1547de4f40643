import type { DocumentVersion } from '../documents/document-stamp.ts'

export type RowKind = 0 | 1
/** Kinds of rows of a feed. */
export const LIVE_ROW: RowKind = 0
export const PENDING_DELETE_ROW: RowKind = 1

/**
 * A change as a store has it, before anything is parsed. An array because drivers return arrays fastest.
 *
 * `ts` is the epoch second of the commit. `expirySecond` is the epoch second at which a live document will expire (0 =
 * never), or at which the document of a pending delete expired. `partitionKey` is canonical text. `rid`, `ttl` and
 * `body` are as of `DocumentVersion`. Only a pending delete has `versionLsn` and `versionTs`: LSN and second of the
 * last version, which is its body.
 */
export type FeedRow = readonly [
  lsn: number,
  kind: RowKind,
  body: string,
  expirySecond: number,
  ts: number,
  partitionKey: string,
  id: string,
  rid: string,
  ttl: number | null,
  versionLsn: number | null,
  versionTs: number | null,
]

/** The document in a row: of a pending delete, its last version. */
export function feedVersion(row: FeedRow): DocumentVersion {
  const [lsn, , body, , ts, , , rid, ttl, versionLsn, versionTs] = row
  return { lsn: versionLsn ?? lsn, ts: versionTs ?? ts, rid, ttl, body }
}

/** One entry of the log of all versions. */
export interface VersionRow {
  readonly lsn: number
  readonly id: string
  /** Canonical text. */
  readonly partitionKey: string
  readonly operation: 'create' | 'replace' | 'delete' | 'expire'
  /** Commit time, epoch ms. */
  readonly commitMs: number
  /** Undefined for deletes and expiries. */
  readonly current: DocumentVersion | undefined
  /** If the collection keeps it and there was one. */
  readonly previous: DocumentVersion | undefined
}
