import {
  DocumentTooLargeError,
  InvalidDocumentError,
  PartitionKeyMismatchError,
  effectivePartitionKey,
  partitionKeyText,
  type PartitionKey,
  type PartitionKeyComponent,
} from '@tidemark/contracts'
import {
  SYSTEM_PROPERTIES,
  extractPartitionKey,
  ownRidPart,
  partitionKeyComponents,
  partitionKeyPathSegments,
} from '@tidemark/contracts/internal'
import { isTtl } from '../catalog/collection-settings.ts'
import { checkedNewDocumentId } from '../catalog/resource-names.ts'
import type { CollectionRecord } from '../engine/catalog.ts'
import { MAX_TTL_SECONDS } from '../engine/expiry.ts'
import { ridBytes } from '../engine/resource-ids.ts'
import { documentRid } from './document-rid.ts'
import { UniqueEntries } from './unique-entries.ts'

/** A partition key value in the forms that engines take. */
export interface EncodedPartitionKey {
  readonly epk: string
  /** Canonical text. */
  readonly text: string
}

/** A document, checked and encoded, except for what only the commit has. */
export interface EncodedDocument {
  readonly id: string
  readonly partitionKey: EncodedPartitionKey
  /** As of `DocumentVersion`. */
  readonly rid: string
  readonly body: string
  /** The document's own time to live; 0 = none. `invalid`: refused while TTL is on (TTL-9). */
  readonly ttl: number | 'invalid'
  /** One entry for each unique key of the collection; undefined when the collection has none. */
  readonly uniqueEntries: readonly string[] | undefined
}

/** Encodes users' documents as stored text, once. One encoder for each collection. */
export class DocumentEncoder {
  /** Of one document's text. */
  readonly maxBytes: number
  readonly #record: CollectionRecord
  readonly #paths: readonly (readonly string[])[]
  readonly #ridBytes: Buffer
  readonly #uniqueEntries: UniqueEntries | undefined
  /** The last key, because writes to one partition key value often follow each other. */
  #recent: EncodedPartitionKey | undefined

  constructor(record: CollectionRecord, maxBytes: number) {
    this.#record = record
    this.#paths = record.definition.partitionKey.paths.map(partitionKeyPathSegments)
    this.#ridBytes = ridBytes(record.rid)
    this.maxBytes = maxBytes
    const { uniqueKeys = [] } = record.definition
    this.#uniqueEntries = uniqueKeys.length === 0 ? undefined : new UniqueEntries(uniqueKeys)
  }

  /**
   * @throws ERR_INVALID_DOCUMENT, ERR_DOCUMENT_TOO_LARGE, ERR_INVALID_PARTITION_KEY
   * @throws ERR_PARTITION_KEY_MISMATCH when `expected` is given and is not the document's value
   */
  encode(document: unknown, expected?: EncodedPartitionKey): EncodedDocument {
    return this.#encode(withoutOwned(document, SYSTEM_PROPERTIES), expected)
  }

  /** As `encode`, without the document's own `ttl`: the commit computes it from the instant of expiry (JB-2). */
  encodeWithoutTtl(document: unknown): EncodedDocument {
    return this.#encode(withoutOwned(document, [...SYSTEM_PROPERTIES, 'ttl']), undefined)
  }

  #encode(body: object, expected: EncodedPartitionKey | undefined): EncodedDocument {
    const id = ownId(body)
    const text = jsonText(body)
    this.#checkSize(text, id)
    const partitionKey = this.#encodedKey(this.#componentsOf(body, text))
    if (expected !== undefined && expected.text !== partitionKey.text) {
      throw new PartitionKeyMismatchError(
        `document ${JSON.stringify(id)} has partition key ${partitionKey.text}, ` +
          `the call says ${expected.text}`,
      )
    }
    const ttl = storedTtl(body, text)
    const rid = ownRidPart(documentRid(this.#ridBytes, `${partitionKey.text}\n${id}`))
    // Taken from the text: only what is stored counts.
    const uniqueEntries = this.#uniqueEntries?.of(parsedObject(text))
    return { id, partitionKey, rid, body: text, ttl, uniqueEntries }
  }

  /** @throws ERR_INVALID_PARTITION_KEY */
  encodeKey(value: PartitionKey): EncodedPartitionKey {
    return this.#encodedKey(partitionKeyComponents(value, this.#paths.length))
  }

  #encodedKey(components: readonly PartitionKeyComponent[]): EncodedPartitionKey {
    const text = partitionKeyText(components)
    if (this.#recent?.text === text) return this.#recent
    const epk = effectivePartitionKey(components, this.#record.definition.partitionKey)
    this.#recent = { epk, text }
    return this.#recent
  }

  #componentsOf(body: object, text: string): readonly PartitionKeyComponent[] {
    const components = extractPartitionKey(body, this.#paths)
    // Only what is stored counts. A Date or another object with `toJSON` becomes a string in the text, and so may an
    // object on the path to the value.
    const sure =
      components.every((component) => component !== undefined) && this.#paths.every(isFlat)
    return sure ? components : extractPartitionKey(parsedObject(text), this.#paths)
  }

  #checkSize(text: string, id: string): void {
    // A UTF-16 unit takes at most 3 bytes, so most documents need no counting.
    if (text.length * 3 <= this.maxBytes) return
    const bytes = Buffer.byteLength(text)
    if (bytes <= this.maxBytes) return
    throw new DocumentTooLargeError(
      `document ${JSON.stringify(id)} has ${bytes} bytes, at most ${this.maxBytes} are allowed`,
    )
  }
}

/** The `ttl` in a document's text. The commit judges whether it is allowed (TTL-9). */
function storedTtl(body: object, text: string): number | 'invalid' {
  if (!Object.prototype.propertyIsEnumerable.call(body, 'ttl')) return 0
  const given: unknown = Reflect.get(body, 'ttl')
  // Undefined, functions and symbols are not in the text. Objects can appear there as something else.
  const ttl = typeof given === 'number' ? given : ownTtl(text)
  if (ttl === undefined) return 0
  return isTtl(ttl) ? ttl : 'invalid'
}

function ownTtl(text: string): unknown {
  const document = parsedObject(text)
  return Object.hasOwn(document, 'ttl') ? Reflect.get(document, 'ttl') : undefined
}

/** The error for a document whose `ttl` is not a time to live (TTL-9). */
export function invalidTtl(
  document: Pick<EncodedDocument, 'id' | 'body'> | undefined,
): InvalidDocumentError {
  const { id = '', body = '{}' } = document ?? {}
  return new InvalidDocumentError(
    `document ${JSON.stringify(id)} has ttl ${JSON.stringify(ownTtl(body))}; ` +
      `it must be -1 or a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`,
  )
}

/** The object to encode: without the properties that the store owns (ST-2). */
function withoutOwned(document: unknown, names: readonly string[]): object {
  let body: unknown = document
  if (isObject(body) && typeof Reflect.get(body, 'toJSON') === 'function') {
    body = parsedObject(jsonText(body))
  }
  if (!isObject(body) || Array.isArray(body)) {
    const found = body === null ? 'null' : Array.isArray(body) ? 'an array' : typeof body
    throw new InvalidDocumentError(`a document must be a JSON object, got ${found}`)
  }
  const present = body
  if (!names.some((name) => Object.hasOwn(present, name))) return present
  const owned: ReadonlySet<string> = new Set(names)
  return Object.fromEntries(Object.entries(present).filter(([name]) => !owned.has(name)))
}

function ownId(body: object): string {
  // An inherited id would be missing from the text.
  const own = Object.prototype.propertyIsEnumerable.call(body, 'id')
  return checkedNewDocumentId(own ? Reflect.get(body, 'id') : undefined)
}

function jsonText(body: object): string {
  try {
    return JSON.stringify(body) ?? ''
  } catch (cause) {
    // Cycles, BigInt, and any error that a `toJSON` throws.
    throw new InvalidDocumentError(
      `a document cannot be written as JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  }
}

function parsedObject(text: string): object {
  const value: unknown = text === '' ? undefined : JSON.parse(text)
  if (!isObject(value)) throw new InvalidDocumentError('a document must be a JSON object')
  return value
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isFlat(path: readonly string[]): boolean {
  return path.length === 1
}
