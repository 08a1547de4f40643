import { generateSchedule, runSchedule, useLightAbort } from '@tidemark/testing/simulation'
import type { Attempt, Kill } from './try-mutant.ts'

// Runs the schedules of seeds until one of them is violated. Seeds: `7,12` or `1-10000`. Tells its parent before each.

Error.stackTraceLimit = 0
useLightAbort()

process.send?.({ seed: 0 } satisfies Attempt)
const kill = await firstKill(seedsOf(process.argv[2] ?? '1-100'))
process.send?.({ kill: kill ?? null } satisfies Attempt)
// What a mutant left running must not keep this process.
process.disconnect()
process.exit(0)

async function firstKill(seeds: Iterable<number>): Promise<Kill | undefined> {
  for (const seed of seeds) {
    process.send?.({ seed } satisfies Attempt)
    const { violation } = await runSchedule(generateSchedule(seed))
    if (violation !== undefined) {
      return { seed, oracle: violation.oracle, message: violation.message }
    }
  }
  return undefined
}

function* seedsOf(text: string): Generator<number> {
  const [first, last] = text.split('-').map(Number)
  if (first !== undefined && last !== undefined) {
    for (let seed = first; seed <= last; seed += 1) yield seed
    return
  }
  for (const seed of text.split(',')) yield Number(seed)
}
