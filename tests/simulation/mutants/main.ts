import { parseArgs } from 'node:util'
import { MUTANTS } from './mutants.ts'
import type { Mutant } from './mutant.ts'
import { tryMutant, type Kill } from './try-mutant.ts'

// npm run mutants -- [--seeds 10000] [--first 1] [--only name,name]
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    first: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})
const only = values.only?.split(',')
const chosen = MUTANTS.filter(({ name }) => only === undefined || only.includes(name))
const first = Number(values.first)
const seeds = { first, last: first + Number(values.seeds) - 1 }
const kills = new Map<string, Kill>()
const waiting = [...chosen]

async function work(): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const kill = await tryMutant(mutant, { seeds, timeoutMs: 900_000 })
    if (kill !== undefined) kills.set(mutant.name, kill)
    process.stdout.write(`${report(mutant, kill)}\n`)
  }
}

function report({ name, why }: Mutant, kill: Kill | undefined): string {
  if (kill === undefined) return `ALIVE   ${name} (${why})`
  const at = kill.seed < 0 ? kill.oracle : `${kill.oracle} at seed ${kill.seed}`
  return `killed  ${name} by ${at}: ${kill.message.slice(0, 160)}`
}

await Promise.all([work(), work()])
process.stdout.write(`killed ${kills.size} of ${chosen.length}\n`)
if (kills.size < chosen.length) process.exitCode = 1
