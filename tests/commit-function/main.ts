import { performance } from 'node:perf_hooks'
import { startPostgresServer } from '@tidemark/testing/servers'
import fc from 'fast-check'
import { flag, readArguments, text, whole } from '../../scripts/command-line/read-arguments.ts'
import { CommitComparison, SEEN_KINDS, type ComparisonReport } from './commit-comparison.ts'
import { killMutants } from './function-mutants.ts'

const USAGE = `usage: npm run commit-function -- [--calls N] [--seed N]
       npm run commit-function -- --mutants [--seed N]

Sends random groups of commits to a PostgreSQL of its own, plans the same commits with planCommit, and compares
every outcome, and after each sequence all rows.

  --calls N          at least so many commits            (default 100000)
  --seed N           of what they are                    (default 1)
  --path P           only this sequence of the seed, as it is printed with a difference
  --mutants          instead: takes one rule after the other out of the function; each must make a difference

Exit code 1 on a difference, or a mutant that makes none.`

const SEQUENCES_A_ROUND = 50
const MUTANT_SEQUENCES = 500

const { values } = readArguments(USAGE, {
  calls: whole(1, 100_000),
  seed: whole(0, 1),
  path: text(),
  mutants: flag(),
})
const { calls, seed, path } = values

console.log(`seed ${seed}`)
{
  await using server = await startPostgresServer()
  const isGood = values.mutants ? await runMutants(server) : await runComparison(server)
  if (!isGood) process.exitCode = 1
}

async function runMutants(server: { createDatabase(): Promise<string> }): Promise<boolean> {
  const fates = await killMutants(server, { seed, maxSequences: MUTANT_SEQUENCES })
  for (const { mutant, killedAfter } of fates) {
    const fate = killedAfter === undefined ? 'SURVIVED' : `killed after ${killedAfter}`
    console.log(`${mutant.of}: ${mutant.rule}: ${fate}`)
  }
  const killed = fates.filter(({ killedAfter }) => killedAfter !== undefined).length
  console.log(`killed ${killed} of ${fates.length}`)
  return killed === fates.length
}

async function runComparison(server: { createDatabase(): Promise<string> }): Promise<boolean> {
  const beganMs = performance.now()
  await using comparison = await CommitComparison.open(await server.createDatabase())
  let failure: ComparisonReport | undefined
  for (let round = 0; failure === undefined && comparison.calls < calls; round++) {
    const report = await comparison.run({ seed: seed + round, numRuns: SEQUENCES_A_ROUND, path })
    if (report.failed) failure = report
    if (path !== undefined) break
  }
  const seconds = Math.round((performance.now() - beganMs) / 1000)
  if (failure !== undefined) print(failure)
  const missing = SEEN_KINDS.filter((kind) => !comparison.seen.has(kind))
  const isThorough = path !== undefined || failure !== undefined || missing.length === 0
  if (!isThorough) console.error(`never seen: ${missing.join(', ')}`)
  const { groups, sequences } = comparison
  console.log(`${sequences} sequences, ${groups} groups, ${seconds} s`)
  console.log(`${comparison.calls} calls, ${failure === undefined ? 0 : 1} differences`)
  return failure === undefined && isThorough
}

function print(failure: ComparisonReport): void {
  console.error(fc.defaultReportMessage(failure) ?? 'failed')
  console.error(failure.errorInstance)
  const which = `--seed ${failure.seed} --path ${failure.counterexamplePath ?? '0'}`
  console.error(`again: npm run commit-function -- ${which}`)
}
