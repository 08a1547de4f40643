import { UniqueKeyError } from '@tidemark/contracts'
import { uniqueKeyPathSegments } from '../catalog/unique-keys.ts'
import type { CollectionRecord, UniqueKey } from '../engine/catalog.ts'
import type { UniqueBreach } from '../engine/commit.ts'
import { textDigest } from '../platform/text-digest.ts'

/** A longer text is stored as its digest, because engines index it. */
const MAX_TEXT_CHARS = 100

/** Computes the unique key entries of documents. */
export class UniqueEntries {
  readonly #keys: readonly (readonly (readonly string[])[])[]

  constructor(keys: readonly UniqueKey[]) {
    this.#keys = keys.map((paths) => paths.map(uniqueKeyPathSegments))
  }

  /**
   * One entry for each key: the values at its paths as JSON text, or a digest of that text. A missing value counts as
   * null.
   */
  of(document: object): readonly string[] {
    return this.#keys.map((paths) => {
      const text = canonicalText(paths.map((segments) => valueAt(document, segments)))
      if (text.length <= MAX_TEXT_CHARS) return text
      // A JSON text of a list begins with a bracket, so the two forms cannot be confused.
      return `sha256:${textDigest(text)}`
    })
  }
}

/** The error of a write that would give a document a unique key entry that another document has. */
export function notUnique(
  { definition: { uniqueKeys = [] } }: CollectionRecord,
  id: string,
  { keyIndex }: Pick<UniqueBreach, 'keyIndex'>,
): UniqueKeyError {
  return new UniqueKeyError(id, uniqueKeys[keyIndex] ?? [])
}

function valueAt(document: object, segments: readonly string[]): unknown {
  let value: unknown = document
  for (const segment of segments) {
    if (!isRecord(value) || !Object.hasOwn(value, segment)) return null
    value = Reflect.get(value, segment)
  }
  return value
}

/** Objects with the same properties have the same text, in whatever order these were written. */
function canonicalText(values: readonly unknown[]): string {
  return JSON.stringify(values, (_, value: unknown) =>
    isRecord(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
