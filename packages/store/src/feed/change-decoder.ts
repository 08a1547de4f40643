import {
  extractPartitionKey,
  lsn,
  partitionKeyOf,
  partitionKeyPathSegments,
  type Change,
  type DocumentBody,
  type PartitionKey,
  type Stored,
} from '@tidemark/contracts'
import { parseStored } from '../documents/stored-document.ts'
import { expiryMs } from '../documents/document-expiry.ts'
import type { CollectionDefinition } from '../engine/catalog.ts'
import { LIVE_ROW, type FeedRow } from '../engine/feed-query.ts'

/** Turns rows of the feed into changes. Each body is parsed once; nothing else is made but the change. */
export class ChangeDecoder<T extends DocumentBody> {
  readonly #paths: readonly (readonly string[])[]
  /** The property of the usual partition key: one path of one name. */
  readonly #property: string | undefined
  readonly #defaultTtl: number | null

  constructor({ partitionKey, defaultTtl }: CollectionDefinition) {
    this.#paths = partitionKey.paths.map(partitionKeyPathSegments)
    const [first] = this.#paths
    this.#property = this.#paths.length === 1 && first?.length === 1 ? first[0] : undefined
    this.#defaultTtl = defaultTtl
  }

  /** @param pendingDeletes without them, a pending delete is passed over */
  decode(rows: readonly FeedRow[], pendingDeletes: boolean): Change<T>[] {
    const changes: Change<T>[] = []
    for (const row of rows) {
      if (row[1] === LIVE_ROW) changes.push(this.#document(row))
      else if (pendingDeletes) changes.push(this.#pendingDelete(row))
    }
    return changes
  }

  #document(row: FeedRow): Change<T> {
    const document = parseStored<T>(row[2])
    const { id } = document
    const partitionKey = this.#partitionKeyOf(document)
    const expiresAt = this.#defaultTtl === null ? undefined : expiryMs(document, this.#defaultTtl)
    return expiresAt === undefined
      ? { kind: 'document', id, partitionKey, lsn: lsn(row[0]), document }
      : { kind: 'document', id, partitionKey, lsn: lsn(row[0]), document, expiresAt }
  }

  #pendingDelete(row: FeedRow): Change<T> {
    const lastVersion = parseStored<T>(row[2])
    return {
      kind: 'pendingDelete',
      id: lastVersion.id,
      partitionKey: this.#partitionKeyOf(lastVersion),
      lsn: lsn(row[0]),
      lastVersion,
      // A policy that was switched off since then does not tell when: then the last write is what is known.
      expiredAt: expiryMs(lastVersion, this.#defaultTtl) ?? lastVersion._ts * 1000,
    }
  }

  #partitionKeyOf(document: Stored<T>): PartitionKey {
    if (this.#property !== undefined) {
      // Parsed JSON inherits no string, number or boolean, so that a name such as "toString" is none.
      const value: unknown = Reflect.get(document, this.#property)
      if (typeof value === 'string') return value
    }
    return partitionKeyOf(extractPartitionKey(document, this.#paths))
  }
}
