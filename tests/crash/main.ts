import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { LaneState } from './lane.ts'
import { LANES, runRound } from './run-round.ts'

const USAGE = `usage: npm run crash -- [--rounds N] [--seed N] [--folder PATH]

Kills a writing process with SIGKILL over and over and looks for what it had acknowledged.

  --rounds N      how many kills           (default 50)
  --seed N        of what is written       (default: random, printed)
  --folder PATH   made anew, left behind   (default: a temporary one, removed)

Exit code 1 if anything was lost or does not agree.`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    folder: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
if (values.help || !Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}

const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'tidemark-crash-')))
let done = 0
let acknowledged = 0
let lost = 0
let indexFaults = 0
const inDoubt = { applied: 0, notApplied: 0 }
let states: readonly LaneState[] = Array.from({ length: LANES }, () => new Map<string, string>())

console.log(`seed ${seed}, ${LANES} concurrent writers`)
try {
  for (let round = 0; round < rounds; round++) {
    const result = await runRound({ folder, seed, round }, states)
    states = result.states
    done++
    acknowledged += result.acknowledged
    lost += result.lost.length
    indexFaults += result.indexFaults.length
    inDoubt.applied += result.inDoubt.applied
    inDoubt.notApplied += result.inDoubt.notApplied
    console.log(`round ${round + 1}: ${result.acknowledged} acknowledged, ${result.description}`)
    for (const fault of [...result.lost, ...result.indexFaults]) console.error(`  ${fault}`)
  }
  // Every lane has a write on its way at any time, so a kill that hit the writing leaves some undone.
  if (inDoubt.notApplied === 0) throw new Error('no kill hit a write on its way')
  console.log(
    `on their way when killed: ${inDoubt.applied} done but not acknowledged, ${inDoubt.notApplied} not done`,
  )
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  if (values.folder === undefined) await rm(folder, { recursive: true, force: true })
}
if (lost > 0 || indexFaults > 0) process.exitCode = 1
console.log(
  `${done} rounds, ${acknowledged} acknowledged writes, ${lost} lost, ${indexFaults} index faults`,
)
