import { errorCode } from '@tidemark/contracts'

/** Work that outlives the call that caused it. */
export class BackgroundWork {
  readonly #tasks = new Set<Promise<void>>()

  /** `work` has to be such that somebody else does it when it fails with a coded error. */
  start(work: () => Promise<void>): void {
    const task = this.#run(work).finally(() => this.#tasks.delete(task))
    this.#tasks.add(task)
  }

  /** Resolves when nothing runs, also of what was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
  }

  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (errorCode(error) === undefined) throw error
    }
  }
}
