import { expect, test } from 'vitest'
import type { MigrationProgress } from '@tidemark/jobs'
import { migrationLine } from './progress-line.ts'

/** What a migration says of 20,000 documents, of which so many were copied and so many are left. */
function progress(
  documents: number,
  remaining: number,
  sourceDocuments: number,
): MigrationProgress {
  return {
    documents,
    remaining,
    sourceDocuments,
    ratePerSecond: 0,
    lag: remaining,
    remainingSeconds: undefined,
    state: remaining === 0 ? 'caughtUp' : 'copying',
  } as MigrationProgress
}

test.each([
  // One was deleted in the source after it was copied.
  [progress(20_000, 0, 19_999), '100 %  20,000 of 20,000'],
  [progress(19_999, 1, 19_999), '99 %  19,999 of 20,000'],
  [progress(5_000, 15_000, 20_000), '25 %  5,000 of 20,000'],
  [progress(0, 0, 0), '100 %  0 of 0'],
])('the share and the total of a migration agree, whatever was deleted: %#', (one, line) => {
  expect(migrationLine(one)).toContain(line)
})
