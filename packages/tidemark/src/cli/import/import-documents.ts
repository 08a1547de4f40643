import { errorCode, type DocumentBody } from '@tidemark/contracts'
import type { ParsedItem } from './parse-items.ts'

type ReadDocument = Extract<ParsedItem, { kind: 'document' }>

/** The target of the documents. */
export interface ImportTarget {
  /** Writes all or none. Rejects with a coded error when one of them is refused. */
  writeTogether(documents: readonly DocumentBody[]): Promise<void>
  writeOne(document: DocumentBody): Promise<void>
}

export interface ImportCounts {
  readonly imported: number
  readonly bad: number
}

export interface ImportProgress {
  /** Called periodically with the counts so far. */
  onProgress(counts: ImportCounts): void
  /** Called for each item that was not imported. */
  onBad(item: { readonly line: number; readonly reason: string }): void
}

/** Documents of one commit. */
const CHUNK = 500
/** Concurrent commits. Meanwhile the next one is read and encoded. */
const IN_FLIGHT = 4

/** Codes for which a document itself is the cause. Any other error ends the import. */
const FAULTS: ReadonlySet<string | undefined> = new Set([
  'ERR_EXISTS',
  'ERR_PRECONDITION_FAILED',
  'ERR_INVALID_DOCUMENT',
  'ERR_INVALID_PARTITION_KEY',
  'ERR_DOCUMENT_TOO_LARGE',
  'ERR_ATOMIC_WRITE_FAILED',
])

/**
 * Writes documents in batches, keeps the order of documents with the same id, and continues after documents that are
 * refused. Only a few commits are in memory. What is counted as imported is durable when it resolves.
 */
export async function importDocuments(
  items: AsyncIterable<ParsedItem>,
  target: ImportTarget,
  progress: ImportProgress,
): Promise<ImportCounts> {
  let imported = 0
  let bad = 0
  let chunk: ReadDocument[] = []
  let ids = new Set<string>()
  const inFlight = new Map<Promise<void>, ReadonlySet<string>>()

  const refuse = (line: number, reason: string): void => {
    bad += 1
    progress.onBad({ line, reason })
  }
  const write = async (documents: readonly ReadDocument[]): Promise<void> => {
    const written = await writeChunk(documents, target, refuse)
    imported += written
    progress.onProgress({ imported, bad })
  }
  const flush = async (): Promise<void> => {
    if (chunk.length === 0) return
    const full = chunk
    const fullIds = ids
    chunk = []
    ids = new Set()
    // A later version of a document must not overtake an earlier one.
    const before = [...inFlight].filter(([, others]) =>
      full.some((item) => others.has(item.document.id)),
    )
    await Promise.all(before.map(([commit]) => commit))
    while (inFlight.size >= IN_FLIGHT) await Promise.race(inFlight.keys())
    const commit = write(full).finally(() => inFlight.delete(commit))
    inFlight.set(commit, fullIds)
  }

  try {
    for await (const item of items) {
      if (item.kind === 'bad') {
        refuse(item.line, item.reason)
        continue
      }
      if (ids.has(item.document.id) || chunk.length >= CHUNK) await flush()
      chunk.push(item)
      ids.add(item.document.id)
    }
    await flush()
  } finally {
    // Also when the input fails: finish what was begun, and leave no rejection unhandled.
    const ended = await Promise.allSettled(inFlight.keys())
    for (const commit of ended) if (commit.status === 'rejected') throwReason(commit.reason)
  }
  return { imported, bad }
}

function throwReason(reason: unknown): never {
  throw reason instanceof Error ? reason : new Error(String(reason))
}

async function writeChunk(
  documents: readonly ReadDocument[],
  target: ImportTarget,
  refuse: (line: number, reason: string) => void,
): Promise<number> {
  try {
    await target.writeTogether(documents.map(({ document }) => document))
    return documents.length
  } catch (error) {
    if (!FAULTS.has(errorCode(error))) throw error
  }
  // One of them is refused. Write them one by one, so that the others get in and the refused one is named.
  let written = 0
  for (const { document, line } of documents) {
    try {
      await target.writeOne(document)
      written += 1
    } catch (error) {
      if (!FAULTS.has(errorCode(error))) throw error
      refuse(line, error instanceof Error ? `${errorCode(error)}: ${error.message}` : String(error))
    }
  }
  return written
}
