import { sharedPostgres } from '@tidemark/testing/servers'
import { afterAll, expect, test } from 'vitest'
import { CommitComparison, SEEN_KINDS } from './commit-comparison.ts'
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
