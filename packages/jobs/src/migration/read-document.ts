import type { DocumentBody, DocumentCollection, Stored } from '@tidemark/contracts'
import { keyText, partitionKeyValue, type DocumentKey } from './document-key.ts'
import type { Versioned } from './planned-write.ts'

/** Reads all keys side by side; what is not there is not in the answer. */
export async function readEach<Value>(
  keys: readonly DocumentKey[],
  read: (key: DocumentKey) => Promise<Value | undefined>,
): Promise<ReadonlyMap<string, Value>> {
  const found = new Map<string, Value>()
  await Promise.all(
    keys.map(async (key) => {
      const value = await read(key)
      if (value !== undefined) found.set(keyText(key), value)
    }),
  )
  return found
}

export async function readDocument<D extends DocumentBody>(
  collection: DocumentCollection<D>,
  key: DocumentKey,
): Promise<Versioned<Stored<D>> | undefined> {
  const { document } = await collection.read(key.id, partitionKeyValue(key))
  return document && versioned(document)
}

export function versioned<D extends DocumentBody>(document: Stored<D>): Versioned<Stored<D>> {
  return { document, etag: document._etag, lsn: document._lsn, ts: document._ts }
}
