/** What a connection does beside its frames, until it ends. */
export class Work {
  readonly #running = new Set<Promise<void>>()
  readonly #report: (error: unknown) => void

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  /** What it rejects with is reported. */
  start(work: Promise<void>): void {
    const running: Promise<void> = work
      .catch(this.#report)
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
