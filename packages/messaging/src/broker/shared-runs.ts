/** Runs work one at a time for each key. Whoever asks while it runs shares the next run, which begins after the asking. */
export class SharedRuns {
  readonly #running = new Map<number, Promise<void>>()
  readonly #next = new Map<number, Promise<void>>()

  run(key: number, work: () => Promise<void>): Promise<void> {
    const next = this.#next.get(key)
    if (next !== undefined) return next
    const running = this.#running.get(key)
    if (running === undefined) return this.#start(key, work)
    const after = this.#startAfter(running, key, work)
    this.#next.set(key, after)
    return after
  }

  async #startAfter(running: Promise<void>, key: number, work: () => Promise<void>): Promise<void> {
    // Its failure is for those who asked for it.
    await running.catch(() => undefined)
    this.#next.delete(key)
    await this.#start(key, work)
  }

  #start(key: number, work: () => Promise<void>): Promise<void> {
    const run = work().finally(() => {
      if (this.#running.get(key) === run) this.#running.delete(key)
    })
    this.#running.set(key, run)
    return run
  }
}
