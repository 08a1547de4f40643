import { parseArgs } from 'node:util'
import { MUTANTS } from './mutants.ts'
import type { Mutant } from './mutant.ts'
import { tryMutant, type Kill } from './try-mutant.ts'

const USAGE = `usage: npm run mutants -- [--seeds N] [--first N] [--only NAME,NAME]

Takes one rule of safety after the other out of the shipped code, and runs simulated schedules until an oracle objects.

  --seeds N   schedules until a mutant counts as alive  (default 10000)
  --first N   the first seed                            (default 1)
  --only LIST these mutants                             (default: all)

Exit code 1 when one is alive.`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    first: { type: 'string', default: '1' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const [first, seeds] = [values.first, values.seeds].map(Number)
const only = values.only?.split(',')
const chosen = MUTANTS.filter(({ name }) => only === undefined || only.includes(name))
if (
  values.help ||
  chosen.length === 0 ||
  !Number.isSafeInteger(first) ||
  !Number.isSafeInteger(seeds)
) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}

const kills = new Map<string, Kill>()
const waiting = [...chosen]
await Promise.all([work(), work()])
console.log(`killed ${kills.size} of ${chosen.length}`)
if (kills.size < chosen.length) process.exitCode = 1

async function work(): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const last = Number(first) + Number(seeds) - 1
    const kill = await tryMutant(mutant, { first: Number(first), last })
    if (kill !== undefined) kills.set(mutant.name, kill)
    console.log(report(mutant, kill))
  }
}

function report({ name, why }: Mutant, kill: Kill | undefined): string {
  if (kill === undefined) return `ALIVE   ${name} (${why})`
  return `killed  ${name} by ${kill.oracle} at seed ${kill.seed}: ${kill.message.slice(0, 160)}`
}
