import { AssertionError } from 'node:assert'
import type { Redis } from 'ioredis'
import { MutatingClient } from './mutating-client.ts'
import { ScriptComparison } from './script-comparison.ts'
import { SCRIPT_MUTANTS, type ScriptMutant } from './script-mutants.ts'

export interface MutantFate {
  readonly mutant: ScriptMutant
  /** After so many sequences; undefined when nothing differed, also not in the last of them. */
  readonly killedAfter: number | undefined
}

/** Compares with one rule after the other taken out of the scripts, until a sequence differs. */
export async function killMutants(
  redis: Redis,
  {
    mutants = SCRIPT_MUTANTS,
    seed,
    maxSequences,
  }: {
    readonly mutants?: readonly ScriptMutant[]
    readonly seed: number
    readonly maxSequences: number
  },
): Promise<readonly MutantFate[]> {
  const fates: MutantFate[] = []
  for (const [index, mutant] of mutants.entries()) {
    const mutating = new MutatingClient(redis, mutant)
    const comparison = new ScriptComparison({
      redis,
      client: mutating.client(),
      name: `mutant ${index}`,
    })
    const { failed, errorInstance } = await comparison.run({
      seed,
      numRuns: maxSequences,
      shrink: false,
    })
    // An error of another kind, of the client for instance, says nothing of the rule.
    if (failed && !(errorInstance instanceof AssertionError)) throw errorInstance
    if (mutating.changed === 0) throw new Error(`${mutant.script}.lua was never sent`)
    fates.push({ mutant, killedAfter: failed ? comparison.sequences : undefined })
  }
  return fates
}
