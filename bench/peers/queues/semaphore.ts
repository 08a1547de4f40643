/** Counts what is given until it is taken. Those that wait are served in their order. */
export class Semaphore {
  #count = 0
  readonly #waiting: (() => void)[] = []

  give(count: number): void {
    this.#count += count
    while (this.#count > 0) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#count--
      next()
    }
  }

  async take(): Promise<void> {
    if (this.#count > 0) this.#count--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
