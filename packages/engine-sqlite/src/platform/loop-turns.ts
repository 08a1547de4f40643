/**
 * Calls run on the caller's thread and resolve at once. A caller that awaits one after another would never let the
 * event loop run: no timer, no socket, and no answer of a writer's thread. This class yields to it from time to time.
 */
export class LoopTurns {
  readonly #maxMs: number
  readonly #maxCalls: number
  #nextTurn: Promise<void> | undefined
  #beganMs = 0
  #calls = 0

  /** Limits of consecutive calls without a turn of the event loop. */
  constructor({
    maxMs = Infinity,
    maxCalls = Infinity,
  }: {
    readonly maxMs?: number
    readonly maxCalls?: number
  }) {
    this.#maxMs = maxMs
    this.#maxCalls = maxCalls
  }

  /** Call it first: undefined, or what to await. */
  due(): Promise<void> | undefined {
    this.#calls++
    if (this.#nextTurn === undefined) {
      this.#beganMs = performance.now()
      this.#calls = 1
      this.#nextTurn = new Promise((resolve) => {
        setImmediate(() => {
          this.#nextTurn = undefined
          resolve()
        })
      })
      return undefined
    }
    const isLong = this.#calls > this.#maxCalls || performance.now() - this.#beganMs >= this.#maxMs
    return isLong ? this.#nextTurn : undefined
  }
}
