import type { DocumentBody } from '@tidemark/contracts'
import { murmur3x86 } from '@tidemark/contracts/internal'
import { keyText, type DocumentKey } from '../migration/document-key.ts'
import { sha256 } from '../workers/platform/sha256.ts'
import { viewDocumentId, viewKeyText, type ViewKey } from './view-key.ts'

/*
 * What a view keeps. Its documents are one collection, with partition key `/key`. What it remembers is another one in the
 * same database, with partition key `/partition`, so that one commit changes both.
 */

export const VIEW_PARTITION_KEY = '/key'

/** One key of a view. Beside these properties it has the folds' values. */
export interface ViewDocument extends DocumentBody {
  readonly key: ViewKey
  /** What the values are made of. Not for readers. */
  readonly _fold: FoldStates
}

export interface FoldStates {
  /** Documents of the source with this key. */
  readonly count: number
  /** One for each fold, in the order of their names. */
  readonly states: readonly unknown[]
}

/** What one document of the source counts for, one for each that is in the view. */
export interface Contribution extends DocumentBody {
  readonly partition: string
  /** LSN of the version that was counted. An older or equal one is a replay. */
  readonly lsn: number
  /** By key: what each fold keeps of the document, in the order of their names; null is nothing. */
  readonly keys: readonly (readonly [ViewKey, readonly unknown[]])[]
  /** Of the document, where the id has only a digest of it. */
  readonly source?: DocumentKey
  /** It was deleted, as the log of all versions says: an older version may still be on its way. Until then. */
  readonly ttl?: number
}

/** One part of a fold that needs its parts by key. The id sorts. */
export interface IndexedPart extends DocumentBody {
  readonly partition: string
  readonly added: unknown
}

/** Exact over crashes and replays. */
export interface ViewCounts {
  /** Documents that came into the view. */
  readonly added: number
  /** Later versions of documents that were in the view, and stayed. */
  readonly updated: number
  /** Of those, how many have other keys than before. */
  readonly moved: number
  /** Documents that left the view: deleted, expired, or left out by `by`. */
  readonly removed: number
}

export const NO_COUNTS: ViewCounts = { added: 0, updated: 0, moved: 0, removed: 0 }

export function addCounts(a: ViewCounts, b: ViewCounts): ViewCounts {
  return {
    added: a.added + b.added,
    updated: a.updated + b.updated,
    moved: a.moved + b.moved,
    removed: a.removed + b.removed,
  }
}

export interface StateKey {
  readonly partition: string
  readonly id: string
}

/**
 * Contributions lie in this many partitions, whatever the source has: one commit of a page writes few, which costs less than one
 * for each document, and a collection of them can still be split. Those of one partition key value lie together, as the
 * documents do: what a page reads and writes is on few pages of an index.
 */
const CONTRIBUTION_PARTITIONS = 64

/** Where contributions are. */
export const CONTRIBUTIONS: readonly string[] = Array.from(
  { length: CONTRIBUTION_PARTITIONS },
  (_, n) => `s${n}`,
)

export function contributionKey(source: DocumentKey): StateKey {
  const hash = murmur3x86(UTF8.encode(source.partitionKey))
  return { partition: `s${hash % CONTRIBUTION_PARTITIONS}`, id: sourceText(source) }
}

const UTF8 = new TextEncoder()

/** Ids take 255 characters; in the index, a code of 140 comes before it. */
const MAX_SOURCE_CHARS = 110

/** A document of the source as part of an id. It orders equals by their keys where these are short. */
function sourceText(source: DocumentKey): string {
  const text = encodeURIComponent(keyText(source).toWellFormed())
  return text.length <= MAX_SOURCE_CHARS ? text : `~${sha256(keyText(source))}`
}

/** Whether the id of a contribution has only a digest of its document's key. */
export function isDigest(id: string): boolean {
  return id.startsWith('~')
}

/** Undefined of long keys that release 0.1.0 wrote. */
export function sourceOfContribution({ id, source }: Contribution): DocumentKey | undefined {
  if (isDigest(id)) return source
  const text = decodeURIComponent(id)
  const end = text.lastIndexOf('/')
  return { partitionKey: text.slice(0, end), id: text.slice(end + 1) }
}

export function indexPartition(fold: string, key: ViewKey): string {
  return `i${fold} ${viewKeyText(key)}`
}

export function viewDocumentKey(key: ViewKey): { readonly key: ViewKey; readonly id: string } {
  return { key, id: viewDocumentId(key) }
}
