import { Environment, handlesOf } from './environment.ts'
import { generateProgram } from './generate-program.ts'
import type { FoundDifference, RunAnswer, RunRequest, RunTask } from './messages.ts'
import { programText, type Program } from './program.ts'
import { runProgram, type Failure } from './run-program.ts'
import { SeededRandom } from '@tidemark/testing/simulation'
import { sequenceSeed } from './sequence-seed.ts'
import { shrinkProgram } from './shrink-program.ts'

/** Cutting a program down takes hundreds of runs: the first ones tell enough. */
const MAX_SHRUNK = 2

/** Runs sequences of one seed, one after the other. Close it: it may have a folder. */
export class SequenceRunner {
  readonly #task: RunTask
  readonly #environment: Environment
  #shrunk = 0

  constructor(task: RunTask) {
    this.#task = task
    this.#environment = new Environment(task.place)
  }

  async run({ from, until }: RunRequest): Promise<RunAnswer> {
    const differences: FoundDifference[] = []
    for (let sequence = from; sequence < until; sequence++) {
      const program = this.#program(sequence)
      const failure = await runProgram(this.#environment, program)
      if (failure !== undefined) differences.push(await this.#tell(sequence, program, failure))
    }
    return { sequences: until - from, differences }
  }

  /** Runs one program that is given. */
  async runProgram(program: Program): Promise<RunAnswer> {
    const failure = await runProgram(this.#environment, program)
    const differences = failure === undefined ? [] : [await this.#tell(0, program, failure)]
    return { sequences: 1, differences }
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  #program(sequence: number): Program {
    const { seed, place, maxSteps, without } = this.#task
    const random = new SeededRandom(sequenceSeed(seed, sequence))
    const handles = handlesOf(place.engine)
    return generateProgram(random, { maxSteps, handles, without: new Set(without) })
  }

  async #tell(sequence: number, program: Program, failure: Failure): Promise<FoundDifference> {
    const found = { program, failure }
    const isShrunk = this.#shrunk < MAX_SHRUNK
    if (isShrunk) this.#shrunk++
    const told = isShrunk ? await shrinkProgram(this.#environment, found) : found
    return { sequence, message: told.failure.message, program: programText(told.program) }
  }
}
