import {
  type BatchOperation,
  type DeadLetter,
  type DocumentBody,
  type DocumentCollection,
  type Random,
  type Stored,
} from '@tidemark/contracts'
import {
  entryDocument,
  entryOf,
  groupDocument,
  groupDocumentId,
  GROUPS_PARTITION,
  indexPartition,
  isGroupDocument,
  NEVER_EXPIRING,
  parseEntry,
  type DeadLetterEntry,
  type ReadEntry,
} from './dead-letter-documents.ts'
import { isOvertaken } from './lost-races.ts'

/** A transactional batch takes at most so many operations (ST-4). */
const BATCH_LIMIT = 100

/** What a conditional write came to: the entry as it is now, or undefined when another one was first. */
export type Written = ReadEntry | undefined

/** The entries of the letters, and the groups that have some. Every write of an entry is conditional on what was read. */
export class DeadLetterIndex {
  readonly #collection: DocumentCollection
  readonly #random: Random
  readonly #listed = new Set<string>()

  constructor(collection: DocumentCollection, random: Random) {
    this.#collection = collection
    this.#random = random
  }

  async groups(signal?: AbortSignal): Promise<readonly string[]> {
    const { documents } = await this.#collection.readPartition(GROUPS_PARTITION, { signal })
    return documents.flatMap((document) => (isGroupDocument(document) ? [document.group] : []))
  }

  /** Makes the group known, once for each handle. */
  async listGroup(group: string, signal?: AbortSignal): Promise<void> {
    if (this.#listed.has(group)) return
    try {
      await this.#collection.create(this.#groupDocument(group), { signal })
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
    this.#listed.add(group)
  }

  /** The etag of the group's document, if it is another one than the one that is known. Undefined: it is not. */
  async groupNews(
    group: string,
    known: string | undefined,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const { document } = await this.#collection.read(groupDocumentId(group), GROUPS_PARTITION, {
      ifNoneMatch: known,
      signal,
    })
    return document?._etag
  }

  /** Tells the hosts to look for letters that were sent back. */
  async announceRedrive(group: string, signal?: AbortSignal): Promise<void> {
    await this.#collection.upsert(this.#groupDocument(group), { signal })
  }

  /** All entries of a group, oldest first by LSN. */
  async entries(group: string, signal?: AbortSignal): Promise<readonly ReadEntry[]> {
    const { documents } = await this.#collection.readPartition(indexPartition(group), { signal })
    return documents.flatMap((document) => parseEntry(document) ?? [])
  }

  async entry(
    group: string,
    letterId: string,
    signal?: AbortSignal,
  ): Promise<ReadEntry | undefined> {
    const { document } = await this.#collection.read(letterId, indexPartition(group), { signal })
    return document && parseEntry(document)
  }

  /** A letter is on its way: whoever acts on the entry that was there is overtaken from now on. */
  arriving(
    letter: DeadLetter,
    { epk, present }: { readonly epk: string; readonly present: ReadEntry | undefined },
    signal?: AbortSignal,
  ): Promise<Written> {
    const entry = entryOf(letter, { state: 'arriving', epk, redrives: present?.redrives ?? 0 })
    const document = entryDocument(entry)
    return written(
      entry,
      present === undefined
        ? this.#collection.create(document, { signal })
        : this.#collection.replace(document, { ifMatch: present.etag, signal }),
    )
  }

  change(
    { etag: ifMatch, ...known }: ReadEntry,
    to: Partial<Pick<DeadLetterEntry, 'state' | 'redrives'>>,
    signal?: AbortSignal,
  ): Promise<Written> {
    const entry = { ...known, ...to }
    return written(entry, this.#collection.replace(entryDocument(entry), { ifMatch, signal }))
  }

  async remove(entry: ReadEntry, signal?: AbortSignal): Promise<void> {
    const options = { ifMatch: entry.etag, signal }
    try {
      await this.#collection.delete(entry.id, indexPartition(entry.group), options)
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
  }

  /** Sends letters back. Those that somebody else wrote meanwhile stay as they are. Returns the ids that were. */
  async markRedriven(
    group: string,
    entries: readonly ReadEntry[],
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const marked: string[] = []
    for (let from = 0; from < entries.length; from += BATCH_LIMIT) {
      const chunk = entries.slice(from, from + BATCH_LIMIT)
      marked.push(...(await this.#markChunk(group, chunk, signal)))
    }
    return marked
  }

  async #markChunk(
    group: string,
    chunk: readonly ReadEntry[],
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const operations = chunk.map(({ etag, ...entry }): BatchOperation => {
      const document = entryDocument(redriven(entry))
      return { kind: 'replace', document, ifMatch: etag }
    })
    try {
      await this.#collection.batch(indexPartition(group), operations, { signal })
      return chunk.map(({ id }) => id)
    } catch (error) {
      if (!isOvertaken(causeOf(error))) throw error
    }
    const marked: string[] = []
    for (const entry of chunk) {
      const { state, redrives } = redriven(entry)
      const sent = await this.change(entry, { state, redrives }, signal)
      if (sent !== undefined) marked.push(entry.id)
    }
    return marked
  }

  #groupDocument(group: string): DocumentBody {
    return Object.assign({}, groupDocument(group, this.#random.hex(8)), NEVER_EXPIRING)
  }
}

function redriven(entry: DeadLetterEntry): DeadLetterEntry {
  return { ...entry, state: 'redriven', redrives: entry.redrives + 1 }
}

async function written(
  entry: DeadLetterEntry,
  write: Promise<{ readonly document: Stored<DocumentBody> }>,
): Promise<Written> {
  try {
    const { document } = await write
    return { ...entry, etag: document._etag }
  } catch (error) {
    if (isOvertaken(error)) return undefined
    throw error
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error
}
