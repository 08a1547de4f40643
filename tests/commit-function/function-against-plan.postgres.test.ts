import { sharedPostgres } from '@tidemark/testing/servers'
import { afterAll, expect, test } from 'vitest'
import { CommitComparison, SEEN_KINDS } from './commit-comparison.ts'
import type { CommitSequence, OperationShape } from './commit-steps.ts'
import { FUNCTION_MUTANTS, killMutants } from './function-mutants.ts'

// CI's slice of `npm run commit-function`.

const server = await sharedPostgres()
afterAll(() => server[Symbol.asyncDispose]())

test('ST-3 ST-5 TTL-4 TTL-9 TTL-16 CF-11 JB-2 commits on PostgreSQL come out as planCommit says', async () => {
  await using comparison = await CommitComparison.open(await server.createDatabase())
  // One seed, so that every kind of outcome comes in each run of the test; the command takes others.
  const report = await comparison.run({ seed: 1, numRuns: 40 })
  const what = `npm run commit-function -- --seed ${report.seed} --path ${report.counterexamplePath}`
  expect(report.errorInstance, what).toBeNull()
  expect(report.failed, what).toBe(false)
  expect(comparison.calls).toBeGreaterThan(2_000)
  // Some went to the function together.
  expect(comparison.groups).toBeLessThan(comparison.calls * 0.75)
  expect(SEEN_KINDS.filter((kind) => !comparison.seen.has(kind))).toEqual([])
}, 600_000)

test('a function without one of its rules for LSNs is told from planCommit', async () => {
  // The others are left to `npm run commit-function -- --mutants`.
  const mutants = FUNCTION_MUTANTS.filter(({ rule }) => /^(?:ST-5|TTL-16)/.test(rule))
  expect(mutants.length).toBe(6)
  const fates = await killMutants(server, { mutants, seed: 1, maxSequences: 100 })
  const survivors = fates.filter(({ killedAfter }) => killedAfter === undefined)
  expect(survivors.map(({ mutant }) => mutant.rule)).toEqual([])
}, 600_000)

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
