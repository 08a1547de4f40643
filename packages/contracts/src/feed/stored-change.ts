import {
  DocumentStamp,
  type DocumentVersion,
  type StampedCollection,
} from '../documents/document-stamp.ts'
import type { DocumentBody, Stored } from '../documents/document.ts'
import {
  parsePartitionKeyText,
  partitionKeyOf,
  type PartitionKey,
} from '../partition-key/partition-key.ts'
import { lsn, type Lsn } from '../ranges/lsn.ts'
import type { Change } from './change.ts'
import { LIVE_ROW, feedVersion, type FeedRow, type VersionRow } from './feed-row.ts'

/*
 * Changes whose documents are parsed when somebody looks at them: an observer that chooses by key never parses, and
 * one that looks parses while the text is warm. `document`, `lastVersion`, `current` and `previous` are accessors of
 * the object itself, so that spread, JSON, structured clone and `console.log` find them. `text` is on the prototype,
 * and so in none of these.
 */

/** The change in a row of a store's feed. */
export function changeOfRow<T extends DocumentBody>(
  stamp: DocumentStamp,
  row: FeedRow | VersionRow,
): Change<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its kind says which properties it has
  return new StoredChange<T>(stamp, row) as unknown as Change<T>
}

/** Changes on their way to another thread. Their texts cross, and are parsed where somebody looks at them. */
export interface PortableChanges {
  readonly collection: StampedCollection
  readonly rows: readonly (FeedRow | VersionRow)[]
}

/** Undefined when these are not all changes of one store's collection. */
export function portableChanges(changes: readonly Change[]): PortableChanges | undefined {
  return StoredChange.portable(changes)
}

export function changesOfPortable<T extends DocumentBody>({
  collection,
  rows,
}: PortableChanges): readonly Change<T>[] {
  const stamp = new DocumentStamp(collection)
  return rows.map((row) => changeOfRow<T>(stamp, row))
}

/** What somebody found who looked at a change: its text is no document. */
export interface ChangeDamage {
  readonly lsn: Lsn
  /** ERR_STORE_DAMAGED. */
  readonly error: unknown
}

/** The first of these changes that somebody looked at and that is damaged. */
export function damageIn(changes: readonly Change[]): ChangeDamage | undefined {
  for (const change of changes) {
    const error = DAMAGE in change ? change[DAMAGE] : undefined
    if (error !== undefined) return { lsn: change.lsn, error }
  }
  return undefined
}

/** The first of these changes that is damaged. Looks at all documents of all changes. */
export function findDamage(changes: readonly Change[]): ChangeDamage | undefined {
  for (const change of changes) {
    try {
      Object.values(change)
    } catch {
      // The change keeps the error.
    }
  }
  return damageIn(changes)
}

/** A name that all copies of this package share. */
const DAMAGE = Symbol.for('@tidemark/contracts/damage')
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * It keeps the row, not an object made of it by a literal: once such objects have lived as long as a page, V8 puts all of
 * their kind among the old ones at once, and every text outlives its page.
 */
class StoredChange<T extends DocumentBody> {
  readonly kind: Change['kind']
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  declare readonly committedAtMs?: number
  declare readonly expiresAtMs?: number
  declare readonly expiredAtMs?: number
  declare readonly operationType?: 'create' | 'replace' | 'delete'
  declare readonly crts?: number
  declare readonly timeToLiveExpired?: boolean
  readonly #stamp: DocumentStamp
  readonly #row: FeedRow | VersionRow
  /** `document`, `lastVersion` or `current`. */
  #document: Stored<T> | undefined
  #previous: Stored<T> | undefined
  #damage: unknown

  constructor(stamp: DocumentStamp, row: FeedRow | VersionRow) {
    this.#stamp = stamp
    this.#row = row
    if ('operation' in row) {
      const { operation } = row
      this.kind = 'version'
      this.id = row.id
      this.partitionKey = partitionKeyOfText(row.partitionKey)
      this.lsn = lsn(row.lsn)
      this.operationType = operation === 'expire' ? 'delete' : operation
      this.crts = row.commitMs
      if (row.current) Object.defineProperty(this, 'current', StoredChange.#documentAccessor)
      if (row.previous) Object.defineProperty(this, 'previous', StoredChange.#previousAccessor)
      this.timeToLiveExpired = operation === 'expire'
      return
    }
    const [at, kind, , expirySecond, ts, partitionKey, id] = row
    const isLive = kind === LIVE_ROW
    this.kind = isLive ? 'document' : 'pendingDelete'
    this.id = id
    this.partitionKey = partitionKeyOfText(partitionKey)
    this.lsn = lsn(at)
    this.committedAtMs = ts * 1000
    const name = isLive ? 'document' : 'lastVersion'
    Object.defineProperty(this, name, StoredChange.#documentAccessor)
    if (!isLive) this.expiredAtMs = expirySecond * 1000
    else if (expirySecond !== 0) this.expiresAtMs = expirySecond * 1000
  }

  static readonly #documentAccessor: PropertyDescriptor = {
    enumerable: true,
    configurable: true,
    get(this: StoredChange<DocumentBody>): unknown {
      return (this.#document ??= this.#parsed(documentOf(this.#row)))
    },
    set(this: StoredChange<DocumentBody>, document: Stored<DocumentBody>) {
      this.#document = document
    },
  }
  static readonly #previousAccessor: PropertyDescriptor = {
    enumerable: true,
    configurable: true,
    get(this: StoredChange<DocumentBody>): unknown {
      return (this.#previous ??= this.#parsed(previousOf(this.#row)))
    },
    set(this: StoredChange<DocumentBody>, document: Stored<DocumentBody>) {
      this.#previous = document
    },
  }

  static portable(changes: readonly object[]): PortableChanges | undefined {
    let stamp: DocumentStamp | undefined
    const rows: (FeedRow | VersionRow)[] = []
    for (const change of changes) {
      if (!(change instanceof StoredChange)) return undefined
      stamp ??= change.#stamp
      if (change.#stamp !== stamp) return undefined
      rows.push(change.#row)
    }
    return stamp && { collection: stamp.collection, rows }
  }

  get text(): string | undefined {
    return #row in this ? documentOf(this.#row)?.body : undefined
  }

  get [DAMAGE](): unknown {
    // Copies that keep the prototype have no row.
    return #damage in this ? this.#damage : undefined
  }

  [INSPECT](): object {
    // oxlint-disable-next-line typescript/no-misused-spread -- what is printed is a plain object
    return { ...this }
  }

  #parsed(version: DocumentVersion | undefined): Stored<T> | undefined {
    try {
      return version && this.#stamp.document<T>(version)
    } catch (error) {
      this.#damage = error
      throw error
    }
  }
}

function documentOf(row: FeedRow | VersionRow): DocumentVersion | undefined {
  return 'operation' in row ? row.current : feedVersion(row)
}

function previousOf(row: FeedRow | VersionRow): DocumentVersion | undefined {
  return 'operation' in row ? row.previous : undefined
}

/** Most keys are one string without escapes, which needs no parser. */
function partitionKeyOfText(text: string): PartitionKey {
  const isPlain =
    text.startsWith('["') && text.indexOf('"', 2) === text.length - 2 && !text.includes('\\')
  return isPlain ? text.slice(2, -2) : partitionKeyOf(parsePartitionKeyText(text))
}
