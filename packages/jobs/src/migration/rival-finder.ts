import type { DocumentBody } from '@tidemark/contracts'
import { UniqueEntries } from '@tidemark/store/engine'
import { documentPages } from '../workers/document-pages.ts'
import { keyReader, keyText, partitionKeyValue, sameKey, type DocumentKey } from './document-key.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { stateKey, type MappedDocument, type Rival, type Versioned } from './planned-write.ts'
import { readDocument, versioned } from './read-document.ts'
import { sourceEntryKey, type SourceEntry } from './state-documents.ts'
import { storedForm } from './stored-form.ts'

/** A document that is to get a copy. */
export interface Wanting extends Pick<MappedDocument, 'key' | 'document'> {
  readonly source: DocumentKey
  /** Target key of the copy that it has. */
  readonly own: DocumentKey | undefined
}

/** A copy that has values of a unique key which another document wants. */
interface Holder {
  readonly wanting: Wanting
  readonly key: DocumentKey
  readonly etag: string
  /** Epoch second of its commit. */
  readonly ts: number
}

/**
 * Finds the copies that keep a document from its values of unique keys, by going through the partition key values of the
 * target that are concerned. Of their source documents it finds those with the same partition key value as the document's
 * own: in others a source promises no unique values.
 */
export class RivalFinder<S extends DocumentBody, T extends DocumentBody> {
  readonly #storage: MigrationStorage<S, T>
  readonly #unique: UniqueEntries
  readonly #targetKey: (document: DocumentBody) => DocumentKey

  constructor(storage: MigrationStorage<S, T>) {
    this.#storage = storage
    this.#unique = new UniqueEntries(storage.uniqueKeys)
    this.#targetKey = keyReader(storage.target.partitionKeyPaths)
  }

  /** By key text of the source document that wants the values. */
  async find(all: readonly Wanting[]): Promise<ReadonlyMap<string, readonly Rival[]>> {
    const found = new Map<string, readonly Rival[]>()
    for (const wanting of Map.groupBy(all, ({ key }) => key.partitionKey).values()) {
      for (const holder of await this.#holders(wanting)) {
        const rival = await this.#rival(holder)
        if (rival === undefined) continue
        const wantedBy = keyText(holder.wanting.source)
        const others = found.get(wantedBy) ?? []
        // It may have the values of several keys.
        if (others.some(({ source }) => sameKey(source, rival.source))) continue
        found.set(wantedBy, [...others, rival])
      }
    }
    return found
  }

  /** All want a copy under one partition key value. */
  async #holders(all: readonly Wanting[]): Promise<readonly Holder[]> {
    const wanted = new Map<string, Wanting>()
    for (const wanting of all) {
      for (const value of this.#values(storedForm(wanting.document))) wanted.set(value, wanting)
    }
    const [{ key: within } = { key: undefined }] = all
    if (within === undefined) return []
    const holders: Holder[] = []
    const partitionKey = partitionKeyValue(within)
    for await (const page of documentPages(this.#storage.target, { partitionKey })) {
      for (const document of page) {
        const key = this.#targetKey(document)
        for (const value of this.#values(document)) {
          const wanting = wanted.get(value)
          const isOwn = wanting?.own !== undefined && sameKey(wanting.own, key)
          if (wanting === undefined || isOwn) continue
          holders.push({ wanting, key, etag: document._etag, ts: document._ts })
        }
      }
    }
    return holders
  }

  #values(document: object): readonly string[] {
    return this.#unique.of(document).map((value, keyIndex) => `${keyIndex} ${value}`)
  }

  async #rival({ wanting, key: target, etag, ts }: Holder): Promise<Rival | undefined> {
    const entry = await this.#entryOf(target, wanting.source.partitionKey)
    if (entry === undefined) return undefined
    const { lsn, expires = false } = entry.document
    // Another document has got the key of a copy that has expired.
    if (expires && entry.ts !== ts) return undefined
    const source = { partitionKey: wanting.source.partitionKey, id: entry.document.id }
    const present = await readDocument(this.#storage.source, source)
    const isOutdated = present === undefined || present.lsn > lsn
    const holding = expires ? ({ kind: 'own', etag } as const) : undefined
    return { source, entry, target, holding, isOutdated }
  }

  /** The entry of the document that has this copy. Most have the id of their copy. */
  async #entryOf(
    target: DocumentKey,
    partitionKey: string,
  ): Promise<Versioned<SourceEntry> | undefined> {
    const { entries } = this.#storage
    const at = sourceEntryKey({ partitionKey, id: target.id })
    const likely = await readDocument(entries, stateKey(at))
    if (likely !== undefined && has(likely.document, target)) return likely
    for await (const page of documentPages(entries, { partitionKey: at.partition })) {
      const entry = page.find((each) => has(each, target))
      if (entry !== undefined) return versioned(entry)
    }
    return undefined
  }
}

function has({ target, waiting }: SourceEntry, key: DocumentKey): boolean {
  return target !== null && !waiting && sameKey(target, key)
}
