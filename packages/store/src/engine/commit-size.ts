import { CommitTooLargeError } from '@tidemark/contracts'
import type { CommitBatch } from './commit.ts'

type SizedBatch = Pick<CommitBatch, 'operations' | 'uniqueSteps'>

/**
 * One commit holds its ranges until it is durable, and in an embedded store all other commits too. At these limits this
 * takes a tenth of a second, more on slow disks. The limits are also far below what engines can take at all (1 GB in
 * PostgreSQL).
 */
const MAX_COMMIT_OPERATIONS = 10_000
const MAX_COMMIT_BYTES: number = 64 * 2 ** 20
/** For what is written together with a document of the largest size. */
const BESIDE_LARGEST_BYTES: number = 2 ** 20

/** @throws ERR_COMMIT_TOO_LARGE */
export function assertOperations(operations: number): void {
  if (operations <= MAX_COMMIT_OPERATIONS) return
  throw new CommitTooLargeError(
    `a commit has at most ${MAX_COMMIT_OPERATIONS} operations and messages, got ${operations}`,
  )
}

/**
 * Applies to every engine, before the engine gets the commit.
 *
 * @throws ERR_COMMIT_TOO_LARGE
 */
export function assertCommitSize(
  batches: readonly SizedBatch[],
  {
    maxDocumentBytes,
    messages = [],
  }: {
    readonly maxDocumentBytes: number
    readonly messages?: readonly { readonly count: number; readonly bytes: number }[] | undefined
  },
): void {
  const operations = batches.reduce((sum, batch) => sum + batch.operations.length, 0)
  assertOperations(messages.reduce((sum, { count }) => sum + count, operations))
  const maxBytes = Math.max(MAX_COMMIT_BYTES, maxDocumentBytes + BESIDE_LARGEST_BYTES)
  // A UTF-16 unit takes at most 3 bytes, so most commits need no counting.
  let bytes = messages.reduce((sum, one) => sum + one.bytes, 0)
  if (bytes + commitChars(batches) * 3 <= maxBytes) return
  for (const text of commitTexts(batches)) bytes += Buffer.byteLength(text)
  if (bytes <= maxBytes) return
  throw new CommitTooLargeError(
    `a commit writes at most ${maxBytes} bytes of text and messages, this one has ${bytes}`,
  )
}

/** Characters of the texts that a commit writes. */
export function commitChars(batches: readonly SizedBatch[]): number {
  let chars = 0
  for (const text of commitTexts(batches)) chars += text.length
  return chars
}

/** The texts of its documents and of their unique key entries. */
function* commitTexts(batches: readonly SizedBatch[]): Generator<string, void, undefined> {
  for (const { operations, uniqueSteps = [] } of batches) {
    for (const operation of operations) {
      if (operation.kind !== 'put') continue
      yield operation.body
    }
    for (const { entries } of uniqueSteps) yield* entries
  }
}
