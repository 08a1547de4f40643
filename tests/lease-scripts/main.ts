import { performance } from 'node:perf_hooks'
import { startRedisServer, type RedisServer } from '@tidemark/testing/servers'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { flag, readArguments, text, whole } from '../../scripts/command-line/read-arguments.ts'
import { ANSWER_KINDS } from './answer-kinds.ts'
import { killMutants } from './kill-mutants.ts'
import { ScriptComparison, type ComparisonReport } from './script-comparison.ts'

const USAGE = `usage: npm run lease-scripts -- [--calls N] [--seed N] [--lanes N]
       npm run lease-scripts -- --mutants [--seed N]

Runs random sequences of all calls of a lease group against the Lua scripts on a Redis of its own and
against the pure model, at store times that jump back and forth, and compares every reply, and after each
sequence the whole state and what is in the keys.

  --calls N          at least so many calls              (default 100000)
  --seed N           of what they are                    (default: random, printed)
  --lanes N          sequences at the same time          (default 4)
  --path P           only this sequence of the seed, as it is printed with a difference
  --replay-path P    the same
  --mutants          instead: takes one rule after the other out of the scripts; each must make a difference

Exit code 1 on a difference, or a mutant that makes none.`

const SEQUENCES_A_ROUND = 200
const MUTANT_SEQUENCES = 10_000

const { values } = readArguments(USAGE, {
  calls: whole(1, 100_000),
  seed: whole(0, Math.floor(Math.random() * 1_000_000)),
  lanes: whole(1, 4),
  path: text(),
  'replay-path': text(),
  mutants: flag(),
})
const { calls, seed, lanes } = values

console.log(`seed ${seed}`)
{
  await using server = await startRedisServer()
  const isGood = values.mutants ? await runMutants(server) : await runComparison(server)
  if (!isGood) process.exitCode = 1
}

async function runMutants({ admin }: RedisServer): Promise<boolean> {
  const fates = await killMutants(admin, { seed, maxSequences: MUTANT_SEQUENCES })
  for (const { mutant, killedAfter } of fates) {
    const fate = killedAfter === undefined ? 'SURVIVED' : `killed after ${killedAfter}`
    console.log(`${mutant.script}: ${mutant.rule}: ${fate}`)
  }
  const killed = fates.filter(({ killedAfter }) => killedAfter !== undefined).length
  console.log(`killed ${killed} of ${fates.length}`)
  return killed === fates.length
}

async function runComparison({ host, port }: RedisServer): Promise<boolean> {
  const startedMs = performance.now()
  const connections = Array.from({ length: lanes }, () => new Redis(port, host))
  const comparisons = connections.map(
    (redis, lane) => new ScriptComparison({ redis, name: `lane ${lane}` }),
  )
  const failure =
    values.path === undefined ? await runLanes(comparisons) : await runOne(comparisons)
  for (const redis of connections) redis.disconnect()
  const [done, sequences] = [sum(comparisons, 'calls'), sum(comparisons, 'sequences')]
  const callsPerSecond = Math.round((done / (performance.now() - startedMs)) * 1000)
  if (failure !== undefined) print(failure)
  const missing = ANSWER_KINDS.filter(
    (kind) => !comparisons.some(({ answers }) => answers.has(kind)),
  )
  const isThorough = values.path !== undefined || missing.length === 0
  if (!isThorough) console.error(`never answered: ${missing.join(', ')}`)
  const differences = failure === undefined ? 0 : 1
  console.log(
    `${done} calls, ${sequences} sequences, ${differences} differences, ${callsPerSecond} calls/s`,
  )
  return failure === undefined && isThorough
}

/** Rounds of sequences go to the lane that is free; each has a seed of its own, whichever lane it is. */
async function runLanes(
  comparisons: readonly ScriptComparison[],
): Promise<ComparisonReport | undefined> {
  let nextRound = 0
  let failure: ComparisonReport | undefined
  const runLane = async (comparison: ScriptComparison): Promise<void> => {
    while (failure === undefined && sum(comparisons, 'calls') < calls) {
      const round = nextRound
      nextRound += 1
      const report = await comparison.run({ seed: seed + round, numRuns: SEQUENCES_A_ROUND })
      if (report.failed) failure ??= report
    }
  }
  await Promise.all(comparisons.map(runLane))
  return failure
}

async function runOne([comparison]: readonly ScriptComparison[]): Promise<
  ComparisonReport | undefined
> {
  const { path, 'replay-path': replayPath } = values
  const report = await comparison?.run({ seed, numRuns: SEQUENCES_A_ROUND, path, replayPath })
  return report?.failed === true ? report : undefined
}

function print(failure: ComparisonReport): void {
  const message = fc.defaultReportMessage(failure) ?? 'failed'
  console.error(message)
  console.error(failure.errorInstance)
  const [, replayPath] = /replayPath="([^"]*)"/.exec(message) ?? []
  const which = `--seed ${failure.seed} --path ${failure.counterexamplePath ?? '0'}`
  const replay = replayPath === undefined ? '' : ` --replay-path ${replayPath}`
  console.error(`again: npm run lease-scripts -- ${which}${replay}`)
}

function sum(comparisons: readonly ScriptComparison[], of: 'calls' | 'sequences'): number {
  return comparisons.reduce((total, comparison) => total + comparison[of], 0)
}
