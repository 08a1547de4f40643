import { partitionKeyText, type DocumentBody, type PartitionKey } from '@tidemark/contracts'
import {
  extractPartitionKey,
  parsePartitionKeyText,
  partitionKeyComponents,
  partitionKeyOf,
  partitionKeyPathSegments,
} from '@tidemark/contracts/internal'
import { storedForm } from './stored-form.ts'

/** What identifies a document in its collection (ST-2), in a form that can be stored and compared. */
export interface DocumentKey {
  /** Canonical text of the partition key value. */
  readonly partitionKey: string
  readonly id: string
}

/** One text a key, for maps. Ids have no slash, so that no two keys have the same text. */
export function keyText({ partitionKey, id }: DocumentKey): string {
  return `${partitionKey}/${id}`
}

export function sameKey(a: DocumentKey, b: DocumentKey): boolean {
  return a.id === b.id && a.partitionKey === b.partitionKey
}

/** Reads keys out of the documents of one collection. */
export function keyReader(
  partitionKeyPaths: readonly string[],
): (document: DocumentBody) => DocumentKey {
  const paths = partitionKeyPaths.map(partitionKeyPathSegments)
  return (document) => {
    let components = extractPartitionKey(document, paths)
    if (components.includes(undefined)) {
      // What is stored decides: a date is no key until it is a text.
      components = extractPartitionKey(storedForm(document), paths)
    }
    return { partitionKey: partitionKeyText(components), id: document.id }
  }
}

/** The key of a change of a feed, whose partition key value is in the form that users see. */
export function changeKey(
  { id, partitionKey }: { readonly id: string; readonly partitionKey: PartitionKey },
  pathCount: number,
): DocumentKey {
  return { id, partitionKey: partitionKeyText(partitionKeyComponents(partitionKey, pathCount)) }
}

/** The value of a key in the form that collections take. */
export function partitionKeyValue({ partitionKey }: DocumentKey): PartitionKey {
  return partitionKeyOf(parsePartitionKeyText(partitionKey))
}
