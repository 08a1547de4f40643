import type { Clock } from '@tidemark/contracts'

/** A reading is not older than this, ms, */
const MIN_AGE_MS = 5_000
/** or than so many times what it took, so that reading takes at most a twentieth of the time. */
const AGE_PER_DURATION = 20

/** A costly reading that everybody who asks within a while shares. */
export class SharedReading<Value> {
  readonly #read: () => Promise<Value>
  readonly #clock: Clock
  #last: Promise<Value> | undefined
  #freshUntilMs = 0

  constructor(read: () => Promise<Value>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  get(): Promise<Value> {
    if (this.#last === undefined || this.#clock.monotonicMs() >= this.#freshUntilMs) {
      this.#freshUntilMs = Infinity
      this.#last = this.#begin()
    }
    return this.#last
  }

  async #begin(): Promise<Value> {
    const beganMs = this.#clock.monotonicMs()
    try {
      return await this.#read()
    } finally {
      const endedMs = this.#clock.monotonicMs()
      this.#freshUntilMs = endedMs + Math.max(MIN_AGE_MS, AGE_PER_DURATION * (endedMs - beganMs))
    }
  }
}
