import { SeededRandom } from '@tidemark/testing/simulation'
import type { FoundDifference, RunAnswer, RunRequest, RunTask } from '../messages.ts'
import { sequenceSeed } from '../sequence-seed.ts'
import { generateMessageProgram, type MessageProgram } from './message-program.ts'
import { MessagingEnvironment } from './messaging-environment.ts'
import { runMessageProgram, type MessageFailure } from './run-message-program.ts'

/** Cutting a program down takes many runs: the first ones tell enough. */
const MAX_SHRUNK = 2

/** Runs sequences of one seed, one after the other. Close it: it may have a folder. */
export class MessageSequences {
  readonly #task: RunTask
  readonly #environment: MessagingEnvironment
  #shrunk = 0

  constructor(task: RunTask) {
    this.#task = task
    this.#environment = new MessagingEnvironment(task.place)
  }

  async run({ from, until }: RunRequest): Promise<RunAnswer> {
    const differences: FoundDifference[] = []
    for (let sequence = from; sequence < until; sequence++) {
      const random = new SeededRandom(sequenceSeed(this.#task.seed, sequence))
      const program = generateMessageProgram(random, this.#task)
      const failure = await runMessageProgram(this.#environment, program)
      if (failure === undefined) continue
      const told = await this.#shrunkWhile({ program, failure })
      const text = told.program.steps.map((step) => JSON.stringify(step)).join('\n')
      differences.push({ sequence, message: told.failure.message, program: text })
    }
    return { sequences: until - from, differences }
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  /** Leaves out steps for as long as it still fails, whatever with. */
  async #shrunkWhile(found: {
    readonly program: MessageProgram
    readonly failure: MessageFailure
  }): Promise<typeof found> {
    if (this.#shrunk++ >= MAX_SHRUNK) return found
    let best = found
    for (let at = found.failure.step; at >= 0; at--) {
      const { program } = best
      const last = best.failure.step
      const steps = program.steps.filter((_, index) => index !== at && index <= last)
      const shorter = { ...program, steps }
      const failure = await runMessageProgram(this.#environment, shorter)
      if (failure !== undefined) best = { program: shorter, failure }
    }
    return best
  }
}
