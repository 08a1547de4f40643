import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { SeededRandom } from '@tidemark/testing/simulation'
import { handlesOf, type EngineName, type ModelPlace } from './environment.ts'
import { parseProgram, type Program } from './program.ts'
import { SequenceRunner } from './run-sequences.ts'

const SEED = 20_261_121
/** The machine may be busy with other tests; a run of its own takes a minute at most. */
const TIMEOUT_MS = 600_000

/** CI's slice of the model runs of one engine, as tests. Call it at the top level of a test file. */
export function modelSlice({
  engine,
  sequences,
  messageSequences,
  place,
}: {
  readonly engine: EngineName
  /** None: only the programs that once differed. */
  readonly sequences?: number | undefined
  /** Of commands of messages. */
  readonly messageSequences: number
  /** Where the programs of the folder `programs` run. */
  readonly place: () => Promise<ModelPlace>
}): void {
  if (sequences !== undefined) {
    test(
      `ST-1 ST-5 ST-9 CF-2 CF-3 CF-7 CF-11 TTL-3 TTL-13 TTL-15 TTL-18 the ${engine} engine does what the model says`,
      { timeout: TIMEOUT_MS },
      async () => {
        expect(await lastLine(engine, sequences)).toBe(`${sequences} sequences, 0 differences`)
      },
    )
  }

  test(
    `EXP-02 EXP-04 EXP-06 EXP-07 SES-01 SES-06 SES-11 SES-15 SCH-05 SET-02 SET-03 SET-06 SET-10 SET-18 the messages of the ${engine} engine do what the model says`,
    { timeout: TIMEOUT_MS },
    async () => {
      const line = await lastLine(engine, messageSequences, ['--messaging'])
      expect(line).toBe(`${messageSequences} sequences, 0 differences`)
    },
  )

  // Found by seeds or by thought, and right since: each stays so, on all engines.
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

/**
 * What `npm run model` ends with: in processes of its own, half the time of the same code inside the test runner. One
 * seed, so that a change is judged by itself; the command takes another one each time, and a difference says how to
 * repeat it.
 */
async function lastLine(
  engine: EngineName,
  sequences: number,
  options: readonly string[] = [],
): Promise<string> {
  const command = fileURLToPath(new URL('main.ts', import.meta.url))
  const args = ['--conditions=@tidemark/source', command, '--engine', engine]
  const count = ['--sequences', String(sequences), '--seed', String(SEED)]
  const child = spawn(process.execPath, [...args, ...count, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  console.log(output)
  return output.trim().split('\n').at(-1) ?? ''
}
