import type { DocumentStamp, DocumentVersion } from '../documents/document-stamp.ts'
import type { DocumentBody, Stored } from '../documents/document.ts'
import {
  parsePartitionKeyText,
  partitionKeyOf,
  type PartitionKey,
} from '../partition-key/partition-key.ts'
import { lsn, type Lsn } from '../ranges/lsn.ts'
import type { Change, DocumentChange, PendingDeleteChange, VersionChange } from './change.ts'
import { LIVE_ROW, feedVersion, type FeedRow, type VersionRow } from './feed-row.ts'

/*
 * Changes whose documents are parsed when somebody looks at them: an observer that chooses by key never parses, and
 * one that looks parses while the text is warm. `document`, `lastVersion`, `current` and `previous` are accessors of
 * the object itself, so that spread, JSON, structured clone and `console.log` find them. `text` is on the prototype,
 * and so in none of these.
 */

/** The change in a row of a store's feed. */
export function changeOfRow<T extends DocumentBody>(stamp: DocumentStamp, row: FeedRow): Change<T> {
  return row[1] === LIVE_ROW
    ? new DocumentOfRow<T>(stamp, row)
    : new PendingDeleteOfRow<T>(stamp, row)
}

/** The change in a row of the log of all versions. */
export function changeOfVersionRow<T extends DocumentBody>(
  stamp: DocumentStamp,
  row: VersionRow,
): VersionChange<T> {
  return new VersionOfRow<T>(stamp, row)
}

/** The error of a change with a text that somebody looked at and that is no document: ERR_STORE_DAMAGED. */
export function damageOf(change: object): unknown {
  return DAMAGE in change ? change[DAMAGE] : undefined
}

/** A name that all copies of this package share. */
const DAMAGE = Symbol.for('@tidemark/contracts/damage')
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** A document that is parsed once, when it is first looked at. */
class LazyDocument<T extends DocumentBody> {
  readonly version: DocumentVersion
  damage: unknown
  readonly #stamp: DocumentStamp
  #document: Stored<T> | undefined

  constructor(stamp: DocumentStamp, version: DocumentVersion) {
    this.#stamp = stamp
    this.version = version
    this.damage = undefined
    this.#document = undefined
  }

  get(): Stored<T> {
    if (this.#document !== undefined) return this.#document
    try {
      return (this.#document = this.#stamp.document<T>(this.version))
    } catch (error) {
      this.damage = error
      throw error
    }
  }
}

class DocumentOfRow<T extends DocumentBody> implements DocumentChange<T> {
  readonly kind = 'document'
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  readonly committedAtMs: number
  declare readonly document: Stored<T>
  declare expiresAtMs?: number
  readonly #lazy: LazyDocument<T>

  constructor(stamp: DocumentStamp, row: FeedRow) {
    const [at, , , expirySecond, ts, partitionKey, id] = row
    this.id = id
    this.partitionKey = partitionKeyOfText(partitionKey)
    this.lsn = lsn(at)
    this.committedAtMs = ts * 1000
    this.#lazy = new LazyDocument(stamp, feedVersion(row))
    Object.defineProperty(this, 'document', DocumentOfRow.#accessor)
    if (expirySecond !== 0) this.expiresAtMs = expirySecond * 1000
  }

  static readonly #accessor = ownAccessor((change: DocumentOfRow<DocumentBody>) =>
    change.#lazy.get(),
  )

  get text(): string {
    return this.#lazy.version.body
  }

  get [DAMAGE](): unknown {
    return this.#lazy.damage
  }

  [INSPECT](): object {
    return Object.fromEntries(Object.entries(this))
  }
}

class PendingDeleteOfRow<T extends DocumentBody> implements PendingDeleteChange<T> {
  readonly kind = 'pendingDelete'
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  readonly committedAtMs: number
  declare readonly lastVersion: Stored<T>
  readonly expiredAtMs: number
  readonly #lazy: LazyDocument<T>

  constructor(stamp: DocumentStamp, row: FeedRow) {
    const [at, , , expirySecond, ts, partitionKey, id] = row
    this.id = id
    this.partitionKey = partitionKeyOfText(partitionKey)
    this.lsn = lsn(at)
    this.committedAtMs = ts * 1000
    this.#lazy = new LazyDocument(stamp, feedVersion(row))
    Object.defineProperty(this, 'lastVersion', PendingDeleteOfRow.#accessor)
    this.expiredAtMs = expirySecond * 1000
  }

  static readonly #accessor = ownAccessor((change: PendingDeleteOfRow<DocumentBody>) =>
    change.#lazy.get(),
  )

  get text(): string {
    return this.#lazy.version.body
  }

  get [DAMAGE](): unknown {
    return this.#lazy.damage
  }

  [INSPECT](): object {
    return Object.fromEntries(Object.entries(this))
  }
}

class VersionOfRow<T extends DocumentBody> implements VersionChange<T> {
  readonly kind = 'version'
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  readonly operationType: 'create' | 'replace' | 'delete'
  readonly crts: number
  readonly timeToLiveExpired: boolean
  declare readonly current?: Stored<T>
  declare readonly previous?: Stored<T>
  readonly #current: LazyDocument<T> | undefined
  readonly #previous: LazyDocument<T> | undefined

  constructor(stamp: DocumentStamp, row: VersionRow) {
    const { operation, current, previous } = row
    this.id = row.id
    this.partitionKey = partitionKeyOfText(row.partitionKey)
    this.lsn = lsn(row.lsn)
    this.operationType = operation === 'expire' ? 'delete' : operation
    this.crts = row.commitMs
    this.timeToLiveExpired = operation === 'expire'
    this.#current = current && new LazyDocument(stamp, current)
    this.#previous = previous && new LazyDocument(stamp, previous)
    if (current) Object.defineProperty(this, 'current', VersionOfRow.#currentAccessor)
    if (previous) Object.defineProperty(this, 'previous', VersionOfRow.#previousAccessor)
  }

  static readonly #currentAccessor = ownAccessor((change: VersionOfRow<DocumentBody>) =>
    change.#current?.get(),
  )
  static readonly #previousAccessor = ownAccessor((change: VersionOfRow<DocumentBody>) =>
    change.#previous?.get(),
  )

  get text(): string | undefined {
    return this.#current?.version.body
  }

  get [DAMAGE](): unknown {
    return this.#current?.damage ?? this.#previous?.damage
  }

  [INSPECT](): object {
    return Object.fromEntries(Object.entries(this))
  }
}

function ownAccessor<Owner>(read: (owner: Owner) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    configurable: true,
    get(this: Owner): unknown {
      return read(this)
    },
  }
}

/** Most keys are one string without escapes, which needs no parser. */
function partitionKeyOfText(text: string): PartitionKey {
  const isPlain =
    text.startsWith('["') && text.indexOf('"', 2) === text.length - 2 && !text.includes('\\')
  return isPlain ? text.slice(2, -2) : partitionKeyOf(parsePartitionKeyText(text))
}
