import { SeededRandom } from '../time/seeded-random.ts'

const COST_STREAM = 30_000
const LIGHT_MS = 2
const HEAVY_MS = 40

/** What changes cost in an observer: much in some parts of the key space, little in the others. The same for every run of a seed. */
export class ObserverCosts {
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
  }

  /** Ms of one change. */
  of({ epk }: { readonly epk: string }): number {
    const part = Number.parseInt(epk.slice(0, 2), 16) >> 3
    const isHeavy = SeededRandom.stream(this.#seed, COST_STREAM + part).chance(0.3)
    return isHeavy ? HEAVY_MS : LIGHT_MS
  }

  ofAll(changes: readonly { readonly epk: string }[]): number {
    return changes.reduce((sum, change) => sum + this.of(change), 0)
  }
}
