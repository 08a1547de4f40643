import {
  readArguments,
  text,
  UsageError,
  whole,
} from '../../../scripts/command-line/read-arguments.ts'
import { MUTANTS } from './mutants.ts'
import type { Mutant } from './mutant.ts'
import { tryMutant, type Kill } from './try-mutant.ts'

const USAGE = `usage: npm run mutants -- [--seeds N] [--first N] [--only NAME,NAME]

Takes one rule of safety after the other out of the shipped code, and runs simulated schedules until an oracle objects.

  --seeds N   schedules until a mutant counts as alive  (default 10000)
  --first N   the first seed                            (default 1)
  --only LIST these mutants                             (default: all)

Exit code 1 when one is alive.`

const { values } = readArguments(
  USAGE,
  { seeds: whole(1, 10_000), first: whole(0, 1), only: text() },
  {
    check({ only }) {
      for (const name of only?.split(',') ?? []) {
        if (!MUTANTS.some((mutant) => mutant.name === name)) {
          throw new UsageError(`no such mutant: ${name}`)
        }
      }
    },
  },
)
const { first, seeds } = values
const only = values.only?.split(',')
const chosen = MUTANTS.filter(({ name }) => only === undefined || only.includes(name))

const kills = new Map<string, Kill>()
const waiting = [...chosen]
await Promise.all([work(), work()])
console.log(`killed ${kills.size} of ${chosen.length}`)
if (kills.size < chosen.length) process.exitCode = 1

async function work(): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const last = first + seeds - 1
    const kill = await tryMutant(mutant, { first, last })
    if (kill !== undefined) kills.set(mutant.name, kill)
    console.log(report(mutant, kill))
  }
}

function report({ name, why }: Mutant, kill: Kill | undefined): string {
  if (kill === undefined) return `ALIVE   ${name} (${why})`
  return `killed  ${name} by ${kill.oracle} at seed ${kill.seed}: ${kill.message.slice(0, 160)}`
}
