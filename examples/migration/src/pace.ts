import { setTimeout as sleep } from 'node:timers/promises'

const STEP_MS = 50

/** Holds a worker down to so many documents per second; not at all without a number. */
export class Pace {
  readonly #perSecond: number | undefined
  #count = 0
  #startedMs: number | undefined

  constructor(perSecond: number | undefined) {
    this.#perSecond = perSecond
  }

  /** Resolves when the next document is due. */
  async next(): Promise<void> {
    if (this.#perSecond === undefined) return
    this.#startedMs ??= performance.now()
    this.#count += 1
    const dueMs = this.#startedMs + (this.#count * 1000) / this.#perSecond
    const aheadMs = dueMs - performance.now()
    if (aheadMs > STEP_MS) await sleep(aheadMs)
  }
}
