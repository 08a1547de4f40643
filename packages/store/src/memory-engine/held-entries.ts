import type { UniqueClaim, UniqueHolder, UniqueScope } from '../engine/unique-entries.ts'
import { rowKey } from './memory-row.ts'

/** What documents hold of their collection's unique keys: nothing where there are none. */
export class HeldEntries {
  /** Id of the document, by entry. */
  readonly #holders = new Map<string, string>()
  /** Entries, by document. */
  readonly #entries = new Map<string, readonly string[]>()

  /** Id of the document that an entry is kept for; it may have expired. */
  holderOf({ scope, keyIndex, entry }: UniqueClaim): string | undefined {
    return this.#holders.get(entryKey(scope, keyIndex, entry))
  }

  /** Number of entries of a document that are its own still. */
  countOf(document: { readonly partitionKey: string; readonly id: string }): number {
    const { id } = document
    return (this.#entries.get(rowKey(document)) ?? []).filter(
      (entry, keyIndex) => this.#holders.get(entryKey(document, keyIndex, entry)) === id,
    ).length
  }

  /** Number of all that are kept. */
  get size(): number {
    return this.#holders.size
  }

  /** Gives documents what they have from now on; who had any of it has it no more. */
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

  /** A document is no more, or expired: what it still has is free. */
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
