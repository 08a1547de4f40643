import { sharedPostgres } from '@tidemark/testing/servers'
import { afterAll, expect, test } from 'vitest'
import { CommitComparison } from './commit-comparison.ts'
import type { CommitSequence, OperationShape } from './commit-steps.ts'

const server = await sharedPostgres()
afterAll(() => server[Symbol.asyncDispose]())

test('a commit takes a value from an expired document also when it ends without it', async () => {
  await using comparison = await CommitComparison.open(await server.createDatabase())
  const put = operation('put', 'a', 3)
  const passed = operation('put', 'b', 0)
  const examples = [
    // A commit that names a document twice is judged batch by batch.
    taking(put, [[passed], [operation('delete', 'b', 0)]]),
    taking(put, [[{ ...passed, entries: ['y', '2'], passing: passed.entries }]]),
  ]
  const report = await comparison.run({ seed: 1, numRuns: examples.length, examples })
  expect(report.errorInstance).toBeNull()
  expect(comparison.seen.get('committed')).toBe(4)
})

function operation(kind: OperationShape['kind'], id: string, ttl: number): OperationShape {
  const condition = { kind: 'none', isCurrent: true } as const
  return { kind, id, condition, ttl, expiresIn: undefined, entries: ['x', '1'], passing: undefined }
}

function taking(
  expires: OperationShape,
  batches: readonly (readonly OperationShape[])[],
): CommitSequence {
  const commit = (each: typeof batches) => ({
    batches: each.map((operations) => ({ collection: 0, partitionKey: 'k', operations })),
    fence: undefined,
  })
  return {
    collections: [{ defaultTtl: -1, previousImages: null, hasUniqueKeys: true }],
    steps: [
      { kind: 'commits', commits: [commit([[expires]])] },
      { kind: 'pass', ms: 3500 },
      { kind: 'commits', commits: [commit(batches)] },
    ],
  }
}
