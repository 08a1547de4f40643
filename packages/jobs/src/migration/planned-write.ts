import type { DocumentBody, EtagConditions } from '@tidemark/contracts'
import type { LedgerWrite } from '../effectively-once/ledger.ts'
import { partitionKeyValue, type DocumentKey } from './document-key.ts'
import {
  sourceEntryKey,
  type MigrationCounts,
  type SourceEntry,
  type WaitersEntry,
} from './state-documents.ts'

/** One changed source document with what `mapDocument` made of it. */
export interface IncomingDocument {
  readonly source: DocumentKey
  readonly lsn: number
  /** Undefined = it has no copy. */
  readonly mapped: MappedDocument | undefined
  /** It is no more in the source: the copy goes, and nothing needs to be known of it any longer. */
  readonly gone?: 'expired' | 'deleted'
}

export interface MappedDocument {
  readonly key: DocumentKey
  readonly document: DocumentBody
  /** When the copy is to expire, in epoch ms (JB-2). */
  readonly expiresAtMs?: number | undefined
}

/** A stored document with the etag that a condition on it names. */
export interface Versioned<T> {
  readonly document: T
  readonly etag: string
  readonly lsn: number
  /** Epoch second of its commit. */
  readonly ts: number
}

/**
 * What has become of a copy that expires: `own` = it is there; `gone` = nothing is there; `other` =
 * another document has got the target key since.
 */
export type Holding =
  | { readonly kind: 'own'; readonly etag: string }
  | { readonly kind: 'gone' | 'other' }

/** The document that gets a target key when its present one leaves, with what is left of the queue. */
export interface Succession {
  readonly successor:
    | (MappedDocument & {
        readonly source: DocumentKey
        readonly lsn: number
        readonly entry: Versioned<SourceEntry>
      })
    | undefined
  readonly remaining: readonly DocumentKey[]
}

/** A copy that has the values of a unique key that another document is to get. */
export interface Rival {
  readonly source: DocumentKey
  readonly entry: Versioned<SourceEntry>
  readonly target: DocumentKey
  readonly holding: Holding | undefined
  /** Its document was changed or removed in the source since, so that its values are free there. */
  readonly isOutdated: boolean
}

/** What was read before planning, by key text. What is not in it was not found, or not looked for. */
export interface Facts {
  readonly entries: ReadonlyMap<string, Versioned<SourceEntry>>
  /** By key text of the source document, of copies that expire. Copies that do not are there. */
  readonly holdings: ReadonlyMap<string, Holding>
  /** Target keys that a document has. Looked up only after the guess that they are free was wrong. */
  readonly occupied: ReadonlySet<string>
  readonly waiters: ReadonlyMap<string, Versioned<WaitersEntry>>
  readonly successions: ReadonlyMap<string, Succession>
  /** By key text of the source document that wants their values. Looked up only after a commit was refused for them. */
  readonly rivals: ReadonlyMap<string, readonly Rival[]>
}

export interface PlannedWrite {
  readonly to: 'target' | 'state'
  readonly operation:
    | {
        readonly kind: 'put'
        readonly document: DocumentBody
        readonly expiresAtMs?: number | undefined
      }
    | { readonly kind: 'delete' | 'check' }
  readonly key: DocumentKey
  readonly conditions: EtagConditions
}

export interface Collision {
  readonly source: DocumentKey
  readonly target: DocumentKey
}

export type DocumentPlan =
  /**
   * This version or a newer one was applied before. `unseen`: or its document never was; nothing is written either
   * way, so that only the owner's fence keeps what an earlier owner still wants to write from coming after.
   */
  | { readonly kind: 'replay'; readonly unseen?: true }
  | {
      readonly kind: 'write'
      readonly writes: readonly PlannedWrite[]
      readonly counts: MigrationCounts
      readonly collision: Collision | undefined
    }

/** The entry of a source document, written only over the version that was read. */
export function entryWrite(
  at: { readonly source: DocumentKey; readonly lsn: number },
  {
    expires,
    ...copy
  }: {
    readonly target: DocumentKey | null
    readonly waiting: boolean
    readonly expires: boolean
  },
  present: Versioned<SourceEntry> | undefined,
): PlannedWrite {
  return markedEntry(at, expires ? { ...copy, expires: true } : copy, present)
}

function markedEntry(
  { source, lsn }: { readonly source: DocumentKey; readonly lsn: number },
  copy: Pick<SourceEntry, 'target' | 'expires' | 'parked' | 'deleted'> & {
    readonly waiting?: boolean
  },
  present: Versioned<SourceEntry> | undefined,
): PlannedWrite {
  const { partition, id } = sourceEntryKey(source)
  const document: SourceEntry = { id, partition, lsn, waiting: false, ...copy }
  return {
    to: 'state',
    operation: { kind: 'put', document },
    key: stateKey({ partition, id }),
    conditions: asRead(present),
  }
}

/** Remembers that a source document was deleted, at this LSN. */
export function entryTombstone(
  at: { readonly source: DocumentKey; readonly lsn: number },
  present: Versioned<SourceEntry> | undefined,
): PlannedWrite {
  return markedEntry(at, { target: null, deleted: true }, present)
}

/** Remembers that the copy of a source document was removed, although this version has one. */
export function parkedEntry(
  at: { readonly source: DocumentKey; readonly lsn: number },
  target: DocumentKey,
  present: Versioned<SourceEntry>,
): PlannedWrite {
  return markedEntry(at, { target, parked: true }, present)
}

/** Only over the version that was read, or where nothing was. */
export function asRead(present: Versioned<unknown> | undefined): EtagConditions {
  return present === undefined ? { ifNoneMatch: '*' } : { ifMatch: present.etag }
}

/** Forgets a source document. */
export function entryRemoval(source: DocumentKey, present: Versioned<SourceEntry>): PlannedWrite {
  return {
    to: 'state',
    operation: { kind: 'delete' },
    key: stateKey(sourceEntryKey(source)),
    conditions: asRead(present),
  }
}

/** A write of a target document, with the instant at which it expires. */
export function putCopy(
  { key, document, expiresAtMs }: MappedDocument,
  conditions: EtagConditions,
): PlannedWrite {
  const operation = { kind: 'put', document, expiresAtMs } as const
  return { to: 'target', operation, key, conditions }
}

/** As the ledger takes it. */
export function ledgerWrite({ to, operation, key, conditions }: PlannedWrite): LedgerWrite {
  if (operation.kind === 'put') return { to, ...operation, ...conditions }
  const { kind } = operation
  return { to, kind, id: key.id, partitionKey: partitionKeyValue(key), ...conditions }
}

/** Key of a document of the state collection. */
export function stateKey({ partition, id }: { partition: string; id: string }): DocumentKey {
  return { partitionKey: JSON.stringify([partition]), id }
}
