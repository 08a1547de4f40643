import type { Environment } from './environment.ts'
import type { Program, Step } from './program.ts'
import { runProgram, type Failure } from './run-program.ts'

export interface ShrunkProgram {
  readonly program: Program
  readonly failure: Failure
}

/** Runs that a shrinking takes at most. */
const MAX_RUNS = 600

/**
 * Makes a failing program shorter and plainer for as long as it still fails, whatever with. Every step that
 * is left is needed, unless the number of runs is used up.
 */
export async function shrinkProgram(
  environment: Environment,
  found: ShrunkProgram,
): Promise<ShrunkProgram> {
  const shrinker = new Shrinker(environment, found)
  await shrinker.cutTail()
  let before = -1
  while (before !== shrinker.size && shrinker.mayGoOn) {
    before = shrinker.size
    await shrinker.removeChunks()
    await shrinker.simplify()
  }
  return shrinker.best
}

class Shrinker {
  best: ShrunkProgram
  readonly #environment: Environment
  #runs = 0

  constructor(environment: Environment, found: ShrunkProgram) {
    this.#environment = environment
    this.best = found
  }

  get mayGoOn(): boolean {
    return this.#runs < MAX_RUNS
  }

  /** Length of what is left, as text: less is plainer. */
  get size(): number {
    return JSON.stringify(this.best.program).length
  }

  /** What comes after the failure does not matter. */
  async cutTail(): Promise<void> {
    const { program, failure } = this.best
    await this.#try({ ...program, steps: program.steps.slice(0, failure.step + 1) })
  }

  async removeChunks(): Promise<void> {
    for (let length = this.best.program.steps.length >> 1; length >= 1; length >>= 1) {
      for (let at = 0; at < this.best.program.steps.length && this.mayGoOn;) {
        const { program } = this.best
        const steps = program.steps.filter((_, index) => index < at || index >= at + length)
        if (!(await this.#try({ ...program, steps }))) at += length
      }
    }
  }

  async simplify(): Promise<void> {
    const { length } = this.best.program.steps
    for (let at = 0; at < length && this.mayGoOn; at++) {
      const step = this.best.program.steps[at]
      for (const plainer of step === undefined ? [] : plainerSteps(step)) {
        const { program } = this.best
        if (await this.#try({ ...program, steps: program.steps.with(at, plainer) })) break
      }
    }
    for (const plainer of [{ partitionCount: 1 }, { startOffsetMs: 0 }, { allVersions: null }]) {
      const { program } = this.best
      const settings = { ...program.settings, ...plainer }
      if (JSON.stringify(settings) !== JSON.stringify(program.settings)) {
        await this.#try({ ...program, settings })
      }
    }
  }

  async #try(program: Program): Promise<boolean> {
    if (!this.mayGoOn) return false
    this.#runs++
    const failure = await runProgram(this.#environment, program)
    if (failure === undefined) return false
    this.best = { program, failure }
    return true
  }
}

/** The same step with less in it. */
function plainerSteps(step: Step): readonly Step[] {
  const plainer: Step[] = []
  for (const name of ['via', 'ttl', 'ifMatch', 'pages'] as const) {
    const isNeeded = name === 'pages' && step.do === 'follow'
    if (!isNeeded && name in step && Reflect.get(step, name) !== 0) {
      const { [name]: _, ...rest } = step as Step & Partial<Record<typeof name, unknown>>
      // What is left out is optional.
      plainer.push(rest as Step)
    }
  }
  if (step.do === 'batch' && step.operations.length > 1) {
    for (const index of step.operations.keys()) {
      plainer.push({ ...step, operations: step.operations.toSpliced(index, 1) })
    }
  }
  if (step.do === 'atomic' && step.writes.length > 1) {
    for (const index of step.writes.keys()) {
      plainer.push({ ...step, writes: step.writes.toSpliced(index, 1) })
    }
  }
  if ('range' in step && step.range > 3) plainer.push({ ...step, range: step.range % 4 })
  if ('follower' in step && typeof step.follower === 'number' && step.follower > 0) {
    // Of a step that names a follower by number.
    plainer.push({ ...step, follower: 0 } as Step)
  }
  if (step.do === 'follow' && step.pages > 0) plainer.push({ ...step, pages: 0 })
  return plainer
}
