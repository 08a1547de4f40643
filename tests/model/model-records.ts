import type { FeedRange } from '@tidemark/contracts'

/** One version of a document, as a write left it. `n` is unique in the program and names it. */
export interface Version {
  readonly n: number
  readonly key: string
  readonly pk: string
  readonly id: string
  readonly epk: string
  /** As it stands in the document; undefined = it has none. */
  readonly ttl: unknown
  readonly u: string
  /** Epoch seconds. */
  readonly ts: number
  readonly lsn: number
  /** Which step wrote it. */
  readonly commit: number
}

/** A document that is there, or that has expired and is no pending delete yet. */
export interface StoredDocument {
  readonly version: Version
  /** The second at which it expired under a past value of `defaultTtl`. */
  expiredBefore: number | undefined
}

export interface PendingDelete {
  readonly version: Version
  /** Epoch second. */
  readonly expiredAt: number
  /** Epoch second at which it was written. */
  readonly ts: number
  readonly commit: number
  /** The engine's choice: undefined until it was seen in the feed. */
  lsn: number | undefined
}

/** One change of one document, whether or not the log of all versions was kept then. */
export interface HistoryEntry {
  readonly key: string
  readonly epk: string
  /** Counts the changes of its document. */
  readonly index: number
  readonly operation: 'create' | 'replace' | 'delete' | 'expire'
  /** The version that was written, deleted or that expired. */
  readonly of: Version
  readonly current: Version | undefined
  /** Undefined also where the log keeps none. */
  readonly previous: Version | undefined
  /** Epoch ms. */
  readonly commitMs: number
  readonly commit: number
  lsn: number | undefined
  /** In the log now; false = it was never logged, or is trimmed. */
  isLogged: boolean
}

/** Something that readers can no longer get. */
export interface Loss {
  /** Counts losses: a reader has seen what was lost before it read. */
  readonly at: number
  readonly mode: 'latestVersion' | 'allVersions'
  /** The keys for which the horizon is raised. */
  readonly range: FeedRange
  /** Infinite when nobody saw it before it was lost: above every reader of that time. */
  readonly lsn: number
}

export interface ModelRange extends FeedRange {
  readonly id: string
  /** Highest LSN that was seen in it or in those whose place it took. */
  newestLsn: number
}

export function keyOf({ pk, id }: { readonly pk: string; readonly id: string }): string {
  return `${pk}/${id}`
}

export function isValidTtl(ttl: unknown): ttl is number {
  return Number.isInteger(ttl) && (ttl === -1 || (Number(ttl) >= 1 && Number(ttl) <= 2_147_483_647))
}
