/** Maximum total time of consecutive reads without a turn of the event loop. */
const MAX_STRETCH_MS = 2

/**
 * Reads run on the caller's thread and resolve at once. A caller that awaits one read after another would never let the
 * event loop run: no timer, no socket, and no answer of the writer's thread. This class yields to it from time to time.
 */
export class LoopTurns {
  #nextTurn: Promise<void> | undefined
  #stretchBeganMs = 0

  /** Call before each read: undefined, or what to await first. */
  due(): Promise<void> | undefined {
    if (this.#nextTurn === undefined) {
      this.#stretchBeganMs = performance.now()
      this.#nextTurn = new Promise((resolve) => {
        setImmediate(() => {
          this.#nextTurn = undefined
          resolve()
        })
      })
      return undefined
    }
    return performance.now() - this.#stretchBeganMs < MAX_STRETCH_MS ? undefined : this.#nextTurn
  }
}

/** Resolves in a later turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
