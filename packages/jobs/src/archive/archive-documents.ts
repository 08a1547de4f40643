import {
  InvalidOptionError,
  errorCode,
  lsn,
  systemRandom,
  FULL_RANGE,
  type DocumentBody,
  type FeedRange,
  type Random,
  type Stored,
} from '@tidemark/contracts'
import {
  extractPartitionKey,
  partitionKeyOf,
  partitionKeyPathSegments,
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Collection } from '@tidemark/store'
import { sinkRule, type Sink, type SinkContext } from '../sync/sink.ts'
import { atLeastOne, collectionRule, resolvePageItems } from '../workers/job-options.ts'
import { archiveGroup } from './archive-options.ts'
import type { ArchivedDocument } from './archived-document.ts'

export interface ArchiveDocumentsOptions<T extends DocumentBody> {
  /** The collection whose documents move. */
  readonly source: Collection<T>
  /** Selects the documents; called once for each, in key order. */
  readonly where: (document: Stored<T>) => boolean | Promise<boolean>
  /** Must have `verify`. */
  readonly sink: Sink<ArchivedDocument<NoInfer<T>>>
  /** Only this interval of keys, so that several processes can share the work. @default all */
  readonly range?: FeedRange | undefined
  /** Maximum number of documents of one read, and so of a batch. @unit documents @range 1 or more @default 1_000 */
  readonly maxItemCount?: number | undefined
  /** Maximum number of concurrent removals. @range 1 or more @default 64 */
  readonly maxConcurrentRemovals?: number | undefined
  /** Of an earlier run's progress, with the same `range`: continues there. @default from the first key */
  readonly continuation?: string | undefined
  /** Called after each page. @default nothing */
  readonly onProgress?: ((progress: ArchiveDocumentsProgress) => void) | undefined
  /** Ends it after the current step: it rejects with the signal's reason. @default none */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

/** What `archiveDocuments` did. */
export interface ArchiveDocumentsReport {
  /** Documents looked at. */
  readonly scanned: number
  /** Of those, selected by `where`, and in the sink. */
  readonly archived: number
  /** Of those, removed. */
  readonly removed: number
  /** Selected and archived, but changed, deleted or expired since: the current version stays. */
  readonly changed: number
  /** The sink did not find them as they were written: they stay. */
  readonly unverified: number
}

export interface ArchiveDocumentsProgress extends ArchiveDocumentsReport {
  /** Everything before it is done; undefined at the end. */
  readonly continuation: string | undefined
}

const RULES: OptionRules<ArchiveDocumentsOptions<never>> = {
  source: collectionRule,
  where: requiredOption(option.function),
  sink: sinkRule,
  range: option.anything,
  maxItemCount: option.number,
  maxConcurrentRemovals: option.number,
  continuation: option.text,
  onProgress: option.function,
  signal: option.signal,
  random: option.random,
}
const DEFAULT_REMOVALS = 64

/**
 * Moves the documents that a predicate selects to a sink (JB-4). Each is removed only after the sink has confirmed
 * that it has it, and only in the version that was archived: a document that is written meanwhile stays. Reads in
 * pages, in bounded memory. After an interruption, run it again from the last continuation or from the beginning: at
 * worst, some documents are in the sink twice, under one key.
 *
 * Rejects with ERR_INVALID_OPTION, and with errors of the sink, the predicate and the collection. Nothing is ever
 * removed that is not in the sink.
 */
export async function archiveDocuments<T extends DocumentBody>(
  options: ArchiveDocumentsOptions<T>,
): Promise<ArchiveDocumentsReport> {
  checkOptions(options, RULES)
  const { source, range, continuation, signal, onProgress } = options
  const maxItemCount = resolvePageItems(options.maxItemCount)
  const mover = await openMover(options)
  let report: ArchiveDocumentsReport = {
    scanned: 0,
    archived: 0,
    removed: 0,
    changed: 0,
    unverified: 0,
  }
  let next = continuation
  do {
    signal?.throwIfAborted()
    const page = await source.readDocuments({ range, maxItemCount, continuation: next, signal })
    report = addReports(report, await mover.move(page.documents))
    next = page.continuation
    onProgress?.({ ...report, continuation: next })
  } while (next !== undefined)
  return report
}

async function openMover<T extends DocumentBody>(
  options: ArchiveDocumentsOptions<T>,
): Promise<Mover<T>> {
  const { source, sink, range = FULL_RANGE, random = systemRandom } = options
  const limit = options.maxConcurrentRemovals ?? DEFAULT_REMOVALS
  const maxRemovals = atLeastOne('maxConcurrentRemovals', limit)
  if (sink.verify === undefined) {
    throw new InvalidOptionError(
      'archiveDocuments needs a sink with verify(batch, context): it removes nothing unverified',
    )
  }
  const { rid, definition } = await source.readRecord()
  await sink.open?.(source, { signal: options.signal })
  return new Mover(options, {
    verify: sink.verify.bind(sink),
    maxRemovals,
    collectionRid: rid,
    partitionKeyPaths: definition.partitionKey.paths.map(partitionKeyPathSegments),
    context: {
      source: source.description,
      job: archiveGroup(source),
      range,
      // No lease: runs are told apart by generation, and none of them is late.
      fence: { generation: random.hex(8), epoch: 0, lsn: 0 },
      signal: options.signal ?? new AbortController().signal,
    },
  })
}

interface MoverParts<T extends DocumentBody> {
  readonly verify: NonNullable<Sink<ArchivedDocument<T>>['verify']>
  readonly maxRemovals: number
  readonly collectionRid: string
  readonly partitionKeyPaths: readonly (readonly string[])[]
  readonly context: SinkContext
}

/** Moves what is chosen of one page after the other. */
class Mover<T extends DocumentBody> {
  readonly #options: ArchiveDocumentsOptions<T>
  readonly #parts: MoverParts<T>

  constructor(options: ArchiveDocumentsOptions<T>, parts: MoverParts<T>) {
    this.#options = options
    this.#parts = parts
  }

  async move(documents: readonly Stored<T>[]): Promise<ArchiveDocumentsReport> {
    const { sink, where } = this.#options
    const { verify, context } = this.#parts
    const batch: ArchivedDocument<T>[] = []
    for (const document of documents) {
      if (await where(document)) batch.push(this.#chosen(document))
    }
    const scanned = documents.length
    if (batch.length === 0) {
      return { scanned, archived: 0, removed: 0, changed: 0, unverified: 0 }
    }
    context.signal.throwIfAborted()
    await sink.write(batch, context)
    const answers = await verify(batch, context)
    const verified = batch.filter((_, index) => answers[index] === true)
    const removed = await this.#remove(verified)
    return {
      scanned,
      archived: batch.length,
      removed,
      changed: verified.length - removed,
      unverified: batch.length - verified.length,
    }
  }

  #chosen(document: Stored<T>): ArchivedDocument<T> {
    const { collectionRid, partitionKeyPaths } = this.#parts
    const partitionKey = partitionKeyOf(extractPartitionKey(document, partitionKeyPaths))
    const { id, _lsn } = document
    return { collectionRid, id, partitionKey, lsn: lsn(_lsn), reason: 'chosen', document }
  }

  /** How many of them were there in that version, and are no more. */
  async #remove(batch: readonly ArchivedDocument<T>[]): Promise<number> {
    const waiting = [...batch]
    let removed = 0
    const removeSome = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (await this.#removeOne(next)) removed += 1
      }
    }
    const { maxRemovals } = this.#parts
    const ended = await Promise.allSettled(
      Array.from({ length: Math.min(maxRemovals, batch.length) }, removeSome),
    )
    for (const end of ended) {
      if (end.status === 'rejected') throw asError(end.reason)
    }
    return removed
  }

  async #removeOne({ id, partitionKey, document }: ArchivedDocument<T>): Promise<boolean> {
    const { signal } = this.#options
    try {
      const ifMatch = document._etag
      await this.#options.source.delete(id, partitionKey, { ifMatch, signal })
      return true
    } catch (error) {
      const code = errorCode(error)
      // Somebody has written it, or removed it, since it was read.
      if (code === 'ERR_PRECONDITION_FAILED' || code === 'ERR_NOT_FOUND') return false
      throw error
    }
  }
}

function addReports(a: ArchiveDocumentsReport, b: ArchiveDocumentsReport): ArchiveDocumentsReport {
  return {
    scanned: a.scanned + b.scanned,
    archived: a.archived + b.archived,
    removed: a.removed + b.removed,
    changed: a.changed + b.changed,
    unverified: a.unverified + b.unverified,
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
