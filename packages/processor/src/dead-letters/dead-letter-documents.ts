import {
  feedRangeId,
  InvalidDocumentError,
  lsn,
  parseFeedRangeId,
  type Change,
  type DeadLetter,
  type DocumentBody,
  type Lsn,
  type RecordedError,
} from '@tidemark/contracts'
import { changeKeyText, type StorableChange } from '@tidemark/contracts/internal'

/*
 * The documents of a dead letter collection. Its partition key path is `/partitionKey`, with these values:
 *
 * - `$groups`: one small document a group. It lists the group, and changes when letters are sent back, so that
 *   a host with nothing to do costs one point read.
 * - `index:<group>`: one small document a letter, its entry: what of the letter is listed, and its state.
 * - `letter:<letter id>`: the letter itself, and, of a change that does not fit beside it into one document,
 *   the parts of its text.
 *
 * An entry is written before its letter and confirmed after it, and goes after it: whatever dies where,
 * nothing is in the collection that is not listed.
 */

/** Raised when the documents change in a way that an older release would read wrongly. */
const SCHEMA = 1

export const PARTITION_KEY_PATH = '/partitionKey'
export const GROUPS_PARTITION = '$groups'

/**
 * `arriving`: its host is putting it away, or died of it and will put it away again; `kept`: for an operator to look
 * at; `redriven`: sent back, a host will take it; `leaving`: it is being removed.
 */
export type DeadLetterState = 'arriving' | 'kept' | 'redriven' | 'leaving'

/** A letter as it is listed: without its change and the error's stack. */
export interface DeadLetterEntry {
  readonly id: string
  readonly group: string
  readonly state: DeadLetterState
  readonly lsn: Lsn
  readonly kind: Change['kind']
  /** Id of the document. */
  readonly documentId: string
  /** Canonical text of the document's partition key value: a JSON array, in which None is `{}`. A very long one is cut. */
  readonly partitionKey: string
  /** Effective partition key of the document: tells whose range it is in. */
  readonly epk: string
  readonly error: Omit<RecordedError, 'stack'>
  readonly attempts: number
  readonly hostName: string
  /** Epoch ms, by the host's clock. */
  readonly failedAtMs: number
  /** How often it was sent back. */
  readonly redrives: number
}

/** An entry as it was read, with the etag that a conditional write needs. */
export interface ReadEntry extends DeadLetterEntry {
  readonly etag: string
}

interface EntryDocument extends DocumentBody, DeadLetterEntry {
  readonly partitionKey: string
}

/** A group's document. */
export interface GroupDocument extends DocumentBody {
  readonly partitionKey: typeof GROUPS_PARTITION
  readonly kind: 'group'
  readonly schema: number
  readonly group: string
  /** Another one with every redrive. */
  readonly stamp: string
}

/** How a letter's change is stored: in the document itself, or as text in parts beside it. */
export type StoredChange =
  | { readonly change: StorableChange }
  | { readonly parts: { readonly stamp: string; readonly count: number } }

/** The letter itself, as people see it who follow the collection. */
export type LetterDocument = DocumentBody &
  Omit<DeadLetter, 'range' | 'change'> &
  StoredChange & {
    readonly partitionKey: string
    readonly kind: 'deadLetter'
    readonly schema: number
    readonly range: string
  }

export interface PartDocument extends DocumentBody {
  readonly partitionKey: string
  readonly kind: 'part'
  readonly text: string
}

/** Never expires, also in a collection whose documents do by default. */
export const NEVER_EXPIRING = { ttl: -1 } as const

/** An entry is small, whatever the letter: keys and messages may be as large as documents. */
const ENTRY_MESSAGE_LIMIT = 200
const ENTRY_KEY_LIMIT = 1_000

export function indexPartition(group: string): string {
  return `index:${group}`
}

export function letterPartition(letterId: string): string {
  return `letter:${letterId}`
}

export function groupDocumentId(group: string): string {
  return encodeURIComponent(group)
}

export function partId(stamp: string, index: number): string {
  return `part-${stamp}-${index}`
}

export function groupDocument(group: string, stamp: string): GroupDocument {
  const id = groupDocumentId(group)
  return { id, partitionKey: GROUPS_PARTITION, kind: 'group', schema: SCHEMA, group, stamp }
}

export function isGroupDocument(document: DocumentBody): document is GroupDocument {
  return property(document, 'kind') === 'group' && typeof property(document, 'group') === 'string'
}

/** The entry of a letter. */
export function entryOf(
  letter: DeadLetter,
  { state, epk, redrives }: Pick<DeadLetterEntry, 'state' | 'epk' | 'redrives'>,
): DeadLetterEntry {
  const { id, group, change, error, attempts, hostName, failedAtMs } = letter
  const { name, message, code } = error
  return {
    id,
    group,
    state,
    lsn: letter.lsn,
    kind: change.kind,
    documentId: change.id,
    partitionKey: short(changeKeyText(change), ENTRY_KEY_LIMIT),
    epk,
    error: {
      name,
      message: short(message, ENTRY_MESSAGE_LIMIT),
      ...(code === undefined ? {} : { code }),
    },
    attempts,
    hostName,
    failedAtMs,
    redrives,
  }
}

/** The document of an entry. `partitionKey` is the collection's there, so the change's has another name. */
export function entryDocument(entry: DeadLetterEntry): DocumentBody {
  const { group, partitionKey: documentKey, kind: changeKind, ...rest } = entry
  return Object.assign({}, rest, NEVER_EXPIRING, {
    id: entry.id,
    partitionKey: indexPartition(group),
    kind: 'entry',
    schema: SCHEMA,
    group,
    documentKey,
    changeKind,
  })
}

/** Undefined when the document is of something else or of a newer release. */
export function parseEntry(
  document: DocumentBody & { readonly _etag: string },
): ReadEntry | undefined {
  if (property(document, 'kind') !== 'entry' || property(document, 'schema') !== SCHEMA) {
    return undefined
  }
  const partitionKey = property(document, 'documentKey')
  const kind = property(document, 'changeKind')
  const parsed: unknown = { ...document, partitionKey, kind }
  if (!isEntryDocument(parsed)) return undefined
  const { id, group, state, epk, documentId, error, attempts, hostName, failedAtMs } = parsed
  const known = { id, group, state, epk, documentId, error, attempts, hostName, failedAtMs }
  const { redrives, lsn: at, kind: changeKind, partitionKey: key } = parsed
  return { ...known, redrives, lsn: at, kind: changeKind, partitionKey: key, etag: document._etag }
}

export function letterDocument(letter: DeadLetter, stored: StoredChange): LetterDocument {
  const { id, group, feed, lsn: at, error, attempts, hostName, failedAtMs } = letter
  return Object.assign(
    {
      id,
      partitionKey: letterPartition(id),
      kind: 'deadLetter' as const,
      schema: SCHEMA,
      group,
      feed,
      range: feedRangeId(letter.range),
      lsn: at,
      error,
      attempts,
      hostName,
      failedAtMs,
      ...stored,
    },
    NEVER_EXPIRING,
  )
}

/** @throws ERR_INVALID_DOCUMENT when it is no letter, or of a newer release */
export function parseLetter(document: DocumentBody): LetterDocument {
  if (isLetterDocument(document)) return document
  throw unreadable(document)
}

/** The letter of its document and its change. */
export function letterOf<T extends DocumentBody>(
  document: LetterDocument,
  change: Change<T>,
): DeadLetter<T> {
  const { id, group, feed, error, attempts, hostName, failedAtMs } = document
  const range = parseFeedRangeId(document.range)
  if (range === undefined) throw unreadable(document)
  const at = lsn(document.lsn)
  return { id, group, feed, range, lsn: at, change, error, attempts, hostName, failedAtMs }
}

export function isPartDocument(document: DocumentBody): document is PartDocument {
  return property(document, 'kind') === 'part' && typeof property(document, 'text') === 'string'
}

function short(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1).toWellFormed()}…` : text
}

function unreadable({ id }: DocumentBody): InvalidDocumentError {
  return new InvalidDocumentError(
    `document ${JSON.stringify(id)} is no dead letter that this release wrote (schema ${SCHEMA})`,
  )
}

const STATES: ReadonlySet<unknown> = new Set<DeadLetterState>([
  'arriving',
  'kept',
  'redriven',
  'leaving',
])
const KINDS: ReadonlySet<unknown> = new Set<Change['kind']>([
  'document',
  'pendingDelete',
  'version',
])

function isEntryDocument(value: unknown): value is EntryDocument {
  return (
    isObject(value) &&
    STATES.has(property(value, 'state')) &&
    KINDS.has(property(value, 'kind')) &&
    hasTexts(value, ['id', 'group', 'documentId', 'partitionKey', 'epk', 'hostName']) &&
    hasNumbers(value, ['lsn', 'attempts', 'failedAtMs', 'redrives']) &&
    isError(property(value, 'error'))
  )
}

function isLetterDocument(document: DocumentBody): document is LetterDocument {
  const parts = property(document, 'parts')
  return (
    property(document, 'kind') === 'deadLetter' &&
    property(document, 'schema') === SCHEMA &&
    hasTexts(document, ['group', 'feed', 'range', 'hostName']) &&
    hasNumbers(document, ['lsn', 'attempts', 'failedAtMs']) &&
    isError(property(document, 'error')) &&
    (isObject(property(document, 'change')) ||
      (isObject(parts) && hasTexts(parts, ['stamp']) && hasNumbers(parts, ['count'])))
  )
}

function isError(value: unknown): boolean {
  return isObject(value) && hasTexts(value, ['name', 'message'])
}

function hasTexts(value: object, names: readonly string[]): boolean {
  return names.every((name) => typeof property(value, name) === 'string')
}

function hasNumbers(value: object, names: readonly string[]): boolean {
  return names.every((name) => Number.isSafeInteger(property(value, name)))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function property(value: object, name: string): unknown {
  return Reflect.get(value, name)
}
