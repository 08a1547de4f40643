import {
  errorCode,
  type DeadLetter,
  type DocumentBody,
  type DocumentCollection,
} from '@tidemark/contracts'
import {
  murmur3x64,
  parseChange,
  storableChange,
  type StorableChange,
} from '@tidemark/contracts/internal'
import {
  isPartDocument,
  letterDocument,
  letterOf,
  letterPartition,
  NEVER_EXPIRING,
  parseLetter,
  partId,
  type LetterDocument,
} from './dead-letter-documents.ts'
import { isOvertaken } from './lost-races.ts'
import { textParts } from './text-parts.ts'

/**
 * A change up to this size lies in its letter's document, a bigger one in parts of this size: well below the
 * 2 MiB of a document, whatever the wrapper takes.
 */
const PART_BYTES = 512 * 1024
/** Parts get smaller when the store says that they are too large; below this it has no room for a letter. */
const LEAST_PART_BYTES = 2 * 1024

/** A letter as it was read. */
export interface ReadContents<T extends DocumentBody> {
  readonly letter: DeadLetter<T>
  /** Of all its documents, about. */
  readonly characters: number
}

/** The documents of a letter at one moment. */
export type ContentsSnapshot = readonly { readonly id: string; readonly etag: string }[]

/** Writes and reads the letters themselves, each in a partition of its own, whatever the size of its change. */
export class DeadLetterContents {
  readonly #collection: DocumentCollection

  constructor(collection: DocumentCollection) {
    this.#collection = collection
  }

  /** A letter that is there already is overwritten. */
  async write(letter: DeadLetter, signal?: AbortSignal): Promise<void> {
    const change = storableChange(letter.change)
    const text = JSON.stringify(change)
    for (let partBytes = PART_BYTES; ; partBytes /= 2) {
      const cut = partBytes === PART_BYTES ? letter : withShortError(letter, partBytes)
      const parts = textParts(text, partBytes)
      try {
        const isWhole = parts.length === 1 && (await this.#writeWhole(cut, change, signal))
        if (!isWhole) await this.#writeParts(cut, parts, signal)
        return
      } catch (error) {
        // The store's limit may be lower than its default, and another than that of the change's own store.
        const mayFit = partBytes > LEAST_PART_BYTES
        if (errorCode(error) !== 'ERR_DOCUMENT_TOO_LARGE' || !mayFit) throw error
      }
    }
  }

  /** Undefined when there is none. Rejects with ERR_INVALID_DOCUMENT when it cannot be read. */
  async read<T extends DocumentBody>(
    letterId: string,
    signal?: AbortSignal,
  ): Promise<ReadContents<T> | undefined> {
    const key = letterPartition(letterId)
    const { documents } = await this.#collection.readPartition(key, { signal })
    const main = documents.find(({ id }) => id === letterId)
    if (main === undefined) return undefined
    const document = parseLetter(main)
    const text =
      'parts' in document ? joinedText(document, documents) : JSON.stringify(document.change)
    const change = parseChange<T>(JSON.parse(text))
    return { letter: letterOf(document, change), characters: text.length }
  }

  /** What a removal goes by: what is written after it stays. */
  async snapshot(letterId: string, signal?: AbortSignal): Promise<ContentsSnapshot> {
    const key = letterPartition(letterId)
    const { documents } = await this.#collection.readPartition(key, { signal })
    // The letter's own document first: without it the parts mean nothing.
    return documents
      .map(({ id, _etag }) => ({ id, etag: _etag }))
      .sort((a, b) => Number(b.id === letterId) - Number(a.id === letterId))
  }

  async remove(letterId: string, present: ContentsSnapshot, signal?: AbortSignal): Promise<void> {
    const key = letterPartition(letterId)
    for (const { id, etag } of present) {
      try {
        await this.#collection.delete(id, key, { ifMatch: etag, signal })
      } catch (error) {
        if (!isOvertaken(error)) throw error
      }
    }
  }

  /** False when the store cannot take such a document. */
  async #writeWhole(
    letter: DeadLetter,
    change: StorableChange,
    signal?: AbortSignal,
  ): Promise<boolean> {
    try {
      await this.#collection.upsert(letterDocument(letter, { change }), { signal })
      return true
    } catch (error) {
      // As text it is free of what not every store can keep, such as NUL.
      if (errorCode(error) === 'ERR_INVALID_DOCUMENT') return false
      throw error
    }
  }

  /** Parts are named after what is in them, and the letter's document comes last: it never names what is not there. */
  async #writeParts(
    letter: DeadLetter,
    parts: readonly string[],
    signal?: AbortSignal,
  ): Promise<void> {
    const stamp = stampOf(parts)
    const partitionKey = letterPartition(letter.id)
    for (const [index, text] of parts.entries()) {
      const part = { id: partId(stamp, index), partitionKey, kind: 'part', text, ...NEVER_EXPIRING }
      await this.#collection.upsert(part, { signal })
    }
    const stored = { parts: { stamp, count: parts.length } }
    await this.#collection.upsert(letterDocument(letter, stored), { signal })
  }
}

function joinedText(
  { parts: { stamp, count } }: Extract<LetterDocument, { parts: unknown }>,
  documents: readonly DocumentBody[],
): string {
  const texts = new Map(
    documents.filter(isPartDocument).map(({ id, text }): [string, string] => [id, text]),
  )
  return Array.from({ length: count }, (_, index) => texts.get(partId(stamp, index))).join('')
}

function stampOf(parts: readonly string[]): string {
  const text = parts.map((part) => `${part.length} ${part}`).join()
  const [high = 0, low = 0] = murmur3x64(new TextEncoder().encode(text))
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}

/** Where documents are small, so is what a letter may say beside its change. */
function withShortError(letter: DeadLetter, partBytes: number): DeadLetter {
  const { stack, message, ...error } = letter.error
  // A character takes 6 bytes at most.
  const limit = Math.floor(partBytes / 16)
  const cut = (text: string): string => text.slice(0, limit).toWellFormed()
  const shortStack = stack === undefined ? {} : { stack: cut(stack) }
  return { ...letter, error: { ...error, message: cut(message), ...shortStack } }
}
