import { StoreDamagedError } from '../errors/store-damaged-error.ts'
import type { DocumentBody, Stored } from './document.ts'

/** One version of a document as a store keeps it: the user's text, and what the store knows of it beside the text. */
export interface DocumentVersion {
  /** LSN of the transaction that wrote it. */
  readonly lsn: number
  /** Epoch seconds of the commit. */
  readonly ts: number
  /** The document's own part of `_rid`: 12 characters, the same for all versions. */
  readonly rid: string
  /** A `ttl` that the commit computed, in seconds. The text then has none. */
  readonly ttl: number | null
  /** The user's JSON text as it was encoded. It has no system properties. */
  readonly body: string
}

/** Characters of a collection's `_rid` with which those of its documents begin. */
const SHARED_RID_CHARS = 10
/** What base64 adds to the 16 bytes of a document's `_rid`. */
const RID_END = '=='
const COLLECTION_DIGITS = 8
/** Width of the LSN in an etag: 2^53 has 14 hex digits. */
const LSN_DIGITS = 14
/** What is missing to the left of a number, by its length: `padStart` takes three times as long. */
const ZEROS: readonly string[] = Array.from({ length: LSN_DIGITS }, (_, length) =>
  '0'.repeat(LSN_DIGITS - length),
)

/** The document's own part of its `_rid`, as stores keep it. */
export function ownRidPart(rid: string): string {
  return rid.slice(SHARED_RID_CHARS, -RID_END.length)
}

/**
 * The etag of a document version, with its double quotes. A document gets an LSN only once, and a collection number is
 * never reused, so the two identify the version.
 */
export function documentEtag(collection: number, lsn: number): string {
  return `"${etagStart(collection)}${lsnDigits(lsn)}"`
}

function etagStart(collection: number): string {
  return `${collection.toString(16).padStart(COLLECTION_DIGITS, '0')}-`
}

function lsnDigits(lsn: number): string {
  const digits = lsn.toString(16)
  return (ZEROS[digits.length] ?? '') + digits
}

/** The LSN in an etag of that collection. Undefined for any other text, which then matches nothing. */
export function etagLsn(collection: number, etag: string): number | undefined {
  const match = /^"([0-9a-f]{8})-([0-9a-f]{14})"$/.exec(etag)
  const [, left = '', right = ''] = match ?? []
  return match && Number.parseInt(left, 16) === collection ? Number.parseInt(right, 16) : undefined
}

/** What the system properties of a collection's documents say of the collection. */
export interface StampedCollection {
  readonly number: number
  readonly rid: string
  /** Its `_self`: `dbs/{rid}/colls/{rid}/`. */
  readonly selfLink: string
}

/** Joins versions of one collection's documents with their system properties (ST-2). */
export class DocumentStamp {
  readonly collection: StampedCollection
  readonly #ridStart: string
  readonly #docsLink: string
  readonly #etagStart: string

  constructor(collection: StampedCollection) {
    this.collection = collection
    this.#ridStart = collection.rid.slice(0, SHARED_RID_CHARS)
    this.#docsLink = `${collection.selfLink}docs/`
    this.#etagStart = etagStart(collection.number)
  }

  /**
   * The document with its system properties.
   *
   * @throws ERR_STORE_DAMAGED when the text is not that of an object
   */
  document<T extends DocumentBody>({ lsn, ts, rid, ttl, body }: DocumentVersion): Stored<T> {
    const document = parsedObject(body, lsn)
    const whole = this.#ridStart + rid + RID_END
    // Assigned one by one: it is free, where every way to copy or splice costs as much as the parsing itself.
    document['_rid'] = whole
    document['_self'] = `${this.#docsLink}${whole}/`
    document['_etag'] = `"${this.#etagStart}${lsnDigits(lsn)}"`
    document['_ts'] = ts
    document['_lsn'] = lsn
    if (ttl !== null) document['ttl'] = ttl
    // The only place where stored text becomes a typed document: users declare the type of a collection's documents.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
    return document as unknown as Stored<T>
  }

  /**
   * As `document`, as JSON text. It is spliced, not parsed. `beforeLsn`: further members that are to stand before `_lsn`, with a
   * comma behind them.
   *
   * @throws ERR_STORE_DAMAGED when the text has not the braces of an object; whoever parses it finds the rest
   */
  text({ lsn, ts, rid, ttl, body }: DocumentVersion, beforeLsn = ''): string {
    if (!body.startsWith('{') || !body.endsWith('}')) throw noObject(lsn)
    const whole = this.#ridStart + rid + RID_END
    const etag = this.#etagStart + lsnDigits(lsn)
    const made = ttl === null ? '' : `"ttl":${ttl},`
    return (
      `{"_rid":"${whole}","_self":"${this.#docsLink}${whole}/",` +
      `"_etag":"\\"${etag}\\"","_ts":${ts},${beforeLsn}"_lsn":${lsn},${made}${body.slice(1)}`
    )
  }
}

function parsedObject(body: string, lsn: number): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (cause) {
    throw new StoreDamagedError(`the text of the document at LSN ${lsn} is not JSON`, { cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON objects have these keys
    return value as Record<string, unknown>
  }
  throw noObject(lsn)
}

function noObject(lsn: number): StoreDamagedError {
  return new StoreDamagedError(`the text of the document at LSN ${lsn} is no JSON object`)
}
