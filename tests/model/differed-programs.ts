import { readFile, readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { SeededRandom } from '@tidemark/testing/simulation'
import { handlesOf, type EngineName, type ModelPlace } from './environment.ts'
import { parseProgram, type Program } from './program.ts'
import { SequenceRunner } from './run-sequences.ts'

const SEED = 20_261_121

/** Programs of the folder `programs`: found by seeds or by thought, and right since. Each stays so, on all engines. */
export function testDifferedPrograms(
  engine: EngineName,
  place: () => Promise<ModelPlace> = () => Promise.resolve({ engine } as ModelPlace),
): void {
  test(`ST-9 CF-7 TTL-9 TTL-15 programs that once differed do not on ${engine}`, async () => {
    const folder = new URL('programs/', import.meta.url)
    const task = { place: await place(), seed: 0, maxSteps: 0, without: [], messaging: false }
    const runner = new SequenceRunner(task)
    try {
      for (const name of await readdir(folder)) {
        const program = parseProgram(await readFile(new URL(name, folder), 'utf8'))
        const handles = handlesOf(engine)
        const programs = handles > 1 ? [program, sharedOut(program, handles)] : [program]
        for (const each of programs) {
          expect({ name, ...(await runner.runProgram(each)) }).toMatchObject({ differences: [] })
        }
      }
    } finally {
      await runner.close()
    }
  })
}

/** The same, with each step through any of the handles. */
function sharedOut({ settings, steps }: Program, handles: number): Program {
  const random = new SeededRandom(SEED)
  return { settings, steps: steps.map((step) => ({ ...step, via: random.below(handles) })) }
}
