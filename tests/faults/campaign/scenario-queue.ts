import { sequenceSeed } from '../../model/sequence-seed.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'

/** Runs scenarios side by side: they wait more than they work. */
export class ScenarioQueue {
  readonly #results = new Map<string, PromiseWithResolvers<ScenarioResult>>()

  /** Begins at once. Each is run once. */
  constructor(
    scenarios: readonly Scenario[],
    { atOnce, seed }: { readonly atOnce: number; readonly seed: number },
  ) {
    for (const { name } of scenarios) this.#results.set(name, Promise.withResolvers())
    let begun = 0
    const lane = async (): Promise<void> => {
      for (;;) {
        const scenario = scenarios[begun++]
        if (scenario === undefined) return
        const result = await scenario.run(sequenceSeed(seed, begun))
        this.#results.get(scenario.name)?.resolve(result)
      }
    }
    for (let count = 0; count < atOnce; count++) void lane()
  }

  async result(name: string): Promise<ScenarioResult> {
    const result = this.#results.get(name)
    if (result === undefined) throw new Error(`no such scenario: ${name}`)
    return result.promise
  }
}
