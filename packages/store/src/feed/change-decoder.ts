import {
  extractPartitionKey,
  lsn,
  parsePartitionKeyText,
  partitionKeyOf,
  partitionKeyPathSegments,
  type Change,
  type DocumentBody,
  type PartitionKey,
  type PartitionKeyDefinition,
  type Stored,
  type VersionChange,
} from '@tidemark/contracts'
import { parseStored } from '../documents/stored-document.ts'
import { LIVE_ROW, type FeedRow, type VersionRow } from '../engine/feed-query.ts'

/** Turns rows of the feed into changes. Each body is parsed once, and nothing but the change is created. */
export class ChangeDecoder<T extends DocumentBody> {
  readonly #paths: readonly (readonly string[])[]
  /** The property of the most common partition key: one path of one name. */
  readonly #property: string | undefined

  constructor({ paths }: PartitionKeyDefinition) {
    this.#paths = paths.map(partitionKeyPathSegments)
    const [first] = this.#paths
    this.#property = this.#paths.length === 1 && first?.length === 1 ? first[0] : undefined
  }

  /** @param pendingDeletes if false, pending deletes are skipped */
  decode(rows: readonly FeedRow[], pendingDeletes: boolean): Change<T>[] {
    const changes: Change<T>[] = []
    for (const row of rows) {
      if (row[1] === LIVE_ROW) changes.push(this.#document(row))
      else if (pendingDeletes) changes.push(this.#pendingDelete(row))
    }
    return changes
  }

  decodeVersions(rows: readonly VersionRow[]): Change<T>[] {
    return rows.map((row) => this.#version(row))
  }

  #document(row: FeedRow): Change<T> {
    const document = parseStored<T>(row[2])
    const { id } = document
    const partitionKey = this.#partitionKeyOf(document)
    // The engine judges expiry: the definition in this process may be outdated.
    const expirySecond = row[3]
    return expirySecond === 0
      ? { kind: 'document', id, partitionKey, lsn: lsn(row[0]), document }
      : {
          kind: 'document',
          id,
          partitionKey,
          lsn: lsn(row[0]),
          document,
          expiresAtMs: expirySecond * 1000,
        }
  }

  #pendingDelete(row: FeedRow): Change<T> {
    const lastVersion = parseStored<T>(row[2])
    return {
      kind: 'pendingDelete',
      id: lastVersion.id,
      partitionKey: this.#partitionKeyOf(lastVersion),
      lsn: lsn(row[0]),
      lastVersion,
      expiredAtMs: row[3] * 1000,
    }
  }

  #version({ operation, current, previous, ...row }: VersionRow): VersionChange<T> {
    return {
      kind: 'version',
      id: row.id,
      partitionKey: partitionKeyOf(parsePartitionKeyText(row.partitionKey)),
      lsn: lsn(row.lsn),
      operationType: operation === 'expire' ? 'delete' : operation,
      crts: row.commitMs,
      timeToLiveExpired: operation === 'expire',
      ...(current !== undefined && { current: parseStored<T>(current) }),
      ...(previous !== undefined && { previous: parseStored<T>(previous) }),
    }
  }

  #partitionKeyOf(document: Stored<T>): PartitionKey {
    if (this.#property !== undefined) {
      // Parsed JSON inherits no string, number or boolean, so a name such as "toString" finds nothing.
      const value: unknown = Reflect.get(document, this.#property)
      if (typeof value === 'string') return value
    }
    return partitionKeyOf(extractPartitionKey(document, this.#paths))
  }
}
