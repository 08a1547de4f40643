import type { UniqueClaim, UniqueHolder, UniqueScope } from '../engine/unique-entries.ts'
import { rowKey } from './memory-row.ts'

/** The unique key entries of documents. Empty in collections without unique keys. */
export class HeldEntries {
  /** Id of the document, by entry. */
  readonly #holders = new Map<string, string>()
  /** Entries, by document. */
  readonly #entries = new Map<string, readonly string[]>()

  /** Id of the document that has an entry; the document may have expired. */
  holderOf({ scope, keyIndex, entry }: UniqueClaim): string | undefined {
    return this.#holders.get(entryKey(scope, keyIndex, entry))
  }

  /** Number of entries that a document still has. */
  countOf(document: { readonly partitionKey: string; readonly id: string }): number {
    const { id } = document
    return (this.#entries.get(rowKey(document)) ?? []).filter(
      (entry, keyIndex) => this.#holders.get(entryKey(document, keyIndex, entry)) === id,
    ).length
  }

  /** Number of all entries. */
  get size(): number {
    return this.#holders.size
  }

  /** Gives documents their new entries, and takes these away from any other document. */
  replace(documents: readonly UniqueHolder[]): void {
    for (const { scope, id } of documents) this.release({ partitionKey: scope.partitionKey, id })
    for (const { scope, id, entries } of documents) {
      if (entries.length === 0) continue
      this.#entries.set(rowKey({ partitionKey: scope.partitionKey, id }), entries)
      for (const [keyIndex, entry] of entries.entries()) {
        this.#holders.set(entryKey(scope, keyIndex, entry), id)
      }
    }
  }

  /** Frees the entries that a document still has, after it was deleted or has expired. */
  release(document: { readonly partitionKey: string; readonly id: string }): void {
    const key = rowKey(document)
    for (const [keyIndex, entry] of (this.#entries.get(key) ?? []).entries()) {
      const place = entryKey(document, keyIndex, entry)
      if (this.#holders.get(place) === document.id) this.#holders.delete(place)
    }
    this.#entries.delete(key)
  }
}

function entryKey(
  { partitionKey }: Pick<UniqueScope, 'partitionKey'>,
  keyIndex: number,
  entry: string,
): string {
  return `${partitionKey}\n${keyIndex}\n${entry}`
}
