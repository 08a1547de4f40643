import type { DocumentBody, Stored } from '../documents/document.ts'
import { isJsonRecord } from './json-record.ts'

/**
 * What a server says is a document. Users say what they keep in a container. `_attachments`, which the wire adds and
 * nothing reads, is left out, so that documents are as in process.
 */
export function storedOf<T extends DocumentBody>(value: unknown): Stored<T> {
  let document = value
  if (isJsonRecord(value) && Object.hasOwn(value, '_attachments')) {
    const { _attachments, ...rest } = value
    void _attachments
    document = rest
  }
  // The one place where an answer's JSON becomes a typed document.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return document as Stored<T>
}
