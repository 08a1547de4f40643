import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedisServer, type RedisServer } from '@tidemark/testing/servers'
import { ANSWER_KINDS } from './answer-kinds.ts'
import { killMutants } from './kill-mutants.ts'
import { SCRIPT_MUTANTS } from './script-mutants.ts'
import { ScriptComparison } from './script-comparison.ts'

// CI's slice of `npm run lease-scripts`.

let server: RedisServer

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(() => server.stop())

test('the Lua scripts answer as the pure model does, and leave the same in their keys', async () => {
  const comparison = new ScriptComparison({ redis: server.admin, name: 'slice' })
  // One seed, so that every kind of answer comes in each run of the test; the command takes others.
  const report = await comparison.run({ seed: 1, numRuns: 300 })
  const what = `npm run lease-scripts -- --seed ${report.seed} --path ${report.counterexamplePath}`
  expect(report.errorInstance, what).toBeNull()
  expect(report.failed, what).toBe(false)
  expect(comparison.calls).toBeGreaterThan(3_000)
  expect(ANSWER_KINDS.filter((kind) => !comparison.answers.has(kind))).toEqual([])
  // Every key that the scripts made was looked at, and taken away after it.
  expect(await server.admin.keys('*')).toEqual([])
}, 600_000)

// Those that only long runs tell from the scripts are left to `npm run lease-scripts -- --mutants`, as are two of three others.
const RARE = [
  'of a span the farthest counts',
  'a clock that goes back says nothing',
  'the digest is of this host alone',
]

test('a script without one of its rules is told from the model', async () => {
  const mutants = SCRIPT_MUTANTS.filter(({ rule }) => !RARE.includes(rule)).filter(
    (_, index) => index % 3 === 2,
  )
  expect(mutants.length).toBeGreaterThan(SCRIPT_MUTANTS.length / 4)
  const fates = await killMutants(server.admin, { mutants, seed: 1, maxSequences: 300 })
  const survivors = fates.filter(({ killedAfter }) => killedAfter === undefined)
  expect(survivors.map(({ mutant }) => `${mutant.script}: ${mutant.rule}`)).toEqual([])
}, 600_000)
