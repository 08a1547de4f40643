import type { CommitBatch } from './commit.ts'

type SizedBatch = Pick<CommitBatch, 'operations' | 'uniqueSteps'>

/** Characters of the texts that a commit writes: of its documents, and of what they hold of unique keys. */
export function commitChars(batches: readonly SizedBatch[]): number {
  let chars = 0
  for (const { operations, uniqueSteps = [] } of batches) {
    for (const operation of operations) {
      if (operation.kind === 'put') chars += operation.head.length + operation.tail.length
    }
    for (const { entries } of uniqueSteps) for (const entry of entries) chars += entry.length
  }
  return chars
}
