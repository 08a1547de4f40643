import assert from 'node:assert/strict'
import {
  CodedError,
  InvalidPatchError,
  ResourceNotFoundError,
  errorCode,
  type BulkOperation,
  type BulkOutcome,
  type DocumentBody,
  type EtagConditions,
  type RequestOptions,
} from '@tidemark/contracts'
import { checkOptions, documentEtag } from '@tidemark/contracts/internal'
import type { CommitBatch, CommitOutcome, WriteCondition } from '../engine/commit.ts'
import type { EncodedDocument, EncodedPartitionKey } from './document-encoder.ts'
import type { OpenCollection } from './open-collection.ts'
import { patchDocument } from './patch-document.ts'
import { MAX_ITEMS, readInChunks, type Chunk, type ManyOf } from './read-in-chunks.ts'
import { engineCondition, refusal } from './write-conditions.ts'
import {
  addressOf,
  batchLsn,
  batchOf,
  deleteDocument,
  encodedDocument,
  judged,
  writeEncoded,
} from './write-document.ts'
import { bulkRules, checkBulkOperation, checkBulkSource } from './write-rules.ts'

/** Of operations that were read, and whose outcomes were not taken. Enough for two groups of the embedded engine. */
const WINDOW_OPERATIONS = 16_384
const WINDOW_CHARS: number = 16 * 2 ** 20

/** Of the writes that read first: what they read and write has no place in the window of characters. */
const MAX_READING = 256

/** What became of an operation; also an error that ends the whole. */
type Settled<T extends DocumentBody> =
  | Exclude<BulkOutcome<T>, { kind: 'failed' }>
  | { readonly kind: 'failed'; readonly operation: BulkOperation<T>; readonly error: unknown }

/** An operation that was checked and encoded, or refused. */
interface Item<T extends DocumentBody> {
  readonly operation: BulkOperation<T>
  readonly chars: number
  readonly write: PreparedWrite | { readonly error: unknown }
}

interface PreparedWrite {
  readonly id: string
  readonly key: EncodedPartitionKey
  /** Undefined for a patch and a delete. */
  readonly encoded: EncodedDocument | undefined
  /** Undefined when the present version must be read first. */
  readonly condition: WriteCondition | undefined
}

interface SentChunk<T extends DocumentBody> extends Chunk<Item<T>> {
  /** Never rejects. */
  readonly outcomes: Promise<readonly Settled<T>[]>
}

/** Many writes, each for itself: see `Collection.bulk`. */
export async function* bulkWrite<T extends DocumentBody>(
  opening: () => Promise<OpenCollection>,
  source: ManyOf<BulkOperation<T>>,
  options: RequestOptions,
): AsyncGenerator<BulkOutcome<T>, void, undefined> {
  checkOptions(options, bulkRules)
  checkBulkSource(source)
  const { signal } = options
  signal?.throwIfAborted()
  const open = await opening()
  signal?.throwIfAborted()
  const writer = new BulkWriter<T>(open)
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  const abort = (): void => stop()
  signal?.addEventListener('abort', abort, { once: true })
  const prepare = (operation: BulkOperation<T>): Item<T> => prepared(open, operation)
  // Each operation is a commit: together they leave room in a store that allows for fewer.
  const { maxPendingCommits = Infinity } = open.engine
  const maxItems = Math.min(MAX_ITEMS, Math.ceil(maxPendingCommits / 2))
  const windowOperations = Math.min(WINDOW_OPERATIONS, maxPendingCommits - maxItems + 1)
  const chunks = readInChunks(source, { prepare, stopped, maxItems })
  const sent: SentChunk<T>[] = []
  let operations = 0
  let chars = 0
  try {
    let next = nextOf(chunks)
    for (;;) {
      const isFull = operations >= windowOperations || chars >= WINDOW_CHARS
      const [first] = sent
      if (first !== undefined && (isFull || (await comesFirst(first.outcomes, next)))) {
        for (const settled of await first.outcomes) yield outcomeOf(settled)
        sent.shift()
        operations -= first.items.length
        chars -= first.chars
        continue
      }
      const { chunk, end } = await next
      if (chunk === undefined) {
        for (const { outcomes } of sent)
          for (const settled of await outcomes) yield outcomeOf(settled)
        signal?.throwIfAborted()
        return end?.()
      }
      sent.push({ ...chunk, outcomes: writer.send(chunk.items) })
      operations += chunk.items.length
      chars += chunk.chars
      next = nextOf(chunks)
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    stop()
    await Promise.all(sent.map(({ outcomes }) => outcomes))
    await chunks.return()
  }
}

/** Never rejects: what the source has failed with comes after all outcomes. */
async function nextOf<T extends DocumentBody>(
  chunks: AsyncGenerator<Chunk<Item<T>>, void, undefined>,
): Promise<{ readonly chunk?: Chunk<Item<T>> | undefined; readonly end?: () => never }> {
  try {
    const { value } = await chunks.next()
    return { chunk: value ?? undefined }
  } catch (error) {
    return {
      end: () => {
        throw error
      },
    }
  }
}

function comesFirst(one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> {
  return Promise.race([one.then(() => true), other.then(() => false)])
}

/** @throws the error, when it is not about the operation: then it is about all */
function outcomeOf<T extends DocumentBody>(settled: Settled<T>): BulkOutcome<T> {
  if (settled.kind !== 'failed') return settled
  const { kind, operation, error } = settled
  if (!(error instanceof CodedError) || errorCode(error) === 'ERR_STORE_CLOSED') throw error
  if (error instanceof ResourceNotFoundError && error.resource !== 'document') throw error
  return { kind, operation, error }
}

function prepared<T extends DocumentBody>(
  open: OpenCollection,
  operation: BulkOperation<T>,
): Item<T> {
  const { record } = open
  try {
    checkBulkOperation(operation)
    if (!('document' in operation)) {
      const { kind, id, partitionKey } = operation
      const condition =
        kind === 'patch' ? undefined : engineCondition(kind, operation, record.number)
      const address = addressOf(open, id, partitionKey)
      return { operation, chars: 0, write: { ...address, encoded: undefined, condition } }
    }
    const encoded = encodedDocument(open, operation.document, operation.partitionKey)
    const { id, partitionKey: key, body } = encoded
    const condition = engineCondition(operation.kind, conditionsOf(operation), record.number)
    return { operation, chars: body.length, write: { id, key, encoded, condition } }
  } catch (error) {
    return { operation, chars: 0, write: { error } }
  }
}

function conditionsOf<T extends DocumentBody>(operation: BulkOperation<T>): EtagConditions {
  return operation.kind === 'create' ? {} : operation
}

/** Keeps the operations on one document in order. Others are under way together. */
class BulkWriter<T extends DocumentBody> {
  readonly #open: OpenCollection
  /** The latest operation on each document that has one under way. */
  readonly #latest = new Map<string, Promise<unknown>>()
  /** Room for writes that read first. */
  #room = MAX_READING
  readonly #forRoom: (() => void)[] = []

  constructor(open: OpenCollection) {
    this.#open = open
  }

  /** Never rejects. */
  async send(items: readonly Item<T>[]): Promise<readonly Settled<T>[]> {
    const { record } = this.#open
    const settled: Settled<T>[] = []
    const together = Promise.withResolvers<void>()
    const sent: {
      readonly index: number
      readonly item: Item<T>
      readonly write: PreparedWrite
    }[] = []
    const batches: CommitBatch[] = []
    const alone: Promise<unknown>[] = []
    for (const [index, item] of items.entries()) {
      const { operation, write } = item
      if ('error' in write) {
        settled[index] = { kind: 'failed', operation, error: write.error }
        continue
      }
      const document = documentOf(write)
      const before = this.#latest.get(document)
      if (before === undefined && write.condition !== undefined) {
        sent.push({ index, item, write })
        batches.push(batchOf(record, write, write.condition))
        this.#latest.set(document, together.promise)
        continue
      }
      const run = this.#runAfter(before, operation, write).then((each) => {
        settled[index] = each
        if (this.#latest.get(document) === run) this.#latest.delete(document)
      })
      this.#latest.set(document, run)
      alone.push(run)
    }
    const outcomes = await this.#commitEach(batches)
    for (const [
      position,
      {
        index,
        item: { operation },
        write,
      },
    ] of sent.entries()) {
      settled[index] = this.#settled(operation, write, outcomes[position])
      const document = documentOf(write)
      if (this.#latest.get(document) === together.promise) this.#latest.delete(document)
    }
    together.resolve()
    await Promise.all(alone)
    return settled
  }

  async #commitEach(batches: readonly CommitBatch[]): Promise<readonly (CommitOutcome | Error)[]> {
    const { engine } = this.#open
    try {
      if (engine.commitEach !== undefined) return await engine.commitEach(batches)
      return await Promise.all(
        batches.map((batch) => engine.commit({ batches: [batch] }).catch(failure)),
      )
    } catch (error) {
      // Nothing was accepted.
      return batches.map(() => failure(error))
    }
  }

  #settled(
    operation: BulkOperation<T>,
    write: PreparedWrite,
    outcome: CommitOutcome | Error | undefined,
  ): Settled<T> {
    const { record } = this.#open
    try {
      assert(outcome !== undefined, 'each commit has an outcome')
      if (outcome instanceof Error) throw outcome
      const done = judged(record, write, outcome)
      if (done.kind === 'refused') {
        throw refusal(operation.kind, write.id, record, done.presentLsn)
      }
      const lsn = batchLsn(done)
      if (operation.kind === 'delete') return { kind: 'deleted', operation, lsn }
      const created = done.batches[0]?.existed[0] === false
      return { kind: 'written', operation, lsn, etag: documentEtag(record.number, lsn), created }
    } catch (error) {
      return { kind: 'failed', operation, error }
    }
  }

  async #runAfter(
    before: Promise<unknown> | undefined,
    operation: BulkOperation<T>,
    write: PreparedWrite,
  ): Promise<Settled<T>> {
    await before
    if (write.condition !== undefined) return this.#runAlone(operation, write)
    if (this.#room > 0) this.#room -= 1
    else await new Promise<void>((resolve) => this.#forRoom.push(resolve))
    const settled = await this.#runAlone(operation, write)
    const next = this.#forRoom.shift()
    if (next === undefined) this.#room += 1
    else next()
    return settled
  }

  /** Never rejects. */
  async #runAlone(
    operation: BulkOperation<T>,
    { id, key, encoded }: PreparedWrite,
  ): Promise<Settled<T>> {
    try {
      const conditions = conditionsOf(operation)
      switch (operation.kind) {
        case 'delete': {
          const { lsn } = await deleteDocument(this.#open, { id, key }, conditions)
          return { kind: 'deleted', operation, lsn }
        }
        case 'patch': {
          const { operations, condition } = operation
          const options = { ...conditions, condition: condition && coded(condition) }
          const target = { id, key, operations }
          const { lsn, etag, created } = await patchDocument(this.#open, target, options)
          return { kind: 'written', operation, lsn, etag, created }
        }
        default: {
          assert(encoded !== undefined, 'the document was encoded')
          const parts = { encoded, options: conditions }
          const { lsn, etag, created } = await writeEncoded(this.#open, operation.kind, parts)
          return { kind: 'written', operation, lsn, etag, created }
        }
      }
    } catch (error) {
      return { kind: 'failed', operation, error }
    }
  }
}

/** What the caller's code throws is of its own operation, as any other refusal. */
function coded<Given>(condition: (given: Given) => boolean): (given: Given) => boolean {
  return (given) => {
    try {
      return condition(given)
    } catch (cause) {
      throw new InvalidPatchError('the condition of the patch has thrown', { cause })
    }
  }
}

function documentOf({ key, id }: PreparedWrite): string {
  return `${key.text}\n${id}`
}

function failure(error: unknown): Error {
  assert(error instanceof Error, 'engines reject with errors')
  return error
}
