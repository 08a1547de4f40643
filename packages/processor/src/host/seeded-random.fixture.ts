import type { Random } from '@tidemark/contracts'

/** The same numbers for the same seed. */
export class SeededRandom implements Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0 || 1
  }

  fraction(): number {
    // xorshift32
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    this.#state >>>= 0
    return this.#state / 2 ** 32
  }

  hex(bytes: number): string {
    let text = ''
    for (let n = 0; n < bytes; n += 1) text += Math.floor(this.fraction() * 256).toString(16)
    return text
  }

  below(count: number): number {
    return Math.floor(this.fraction() * count)
  }

  /** True so many times in a hundred. */
  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}
