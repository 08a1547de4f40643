/** Reads that follow one another without a turn of the event loop may take so long together. */
const MAX_STRETCH_MS = 2

/**
 * Reads run on the caller's thread and are done at once, so a caller that awaits one read after the
 * other would never let the event loop turn: no timer, no socket, and no answer of the writer's thread.
 * This gives it a turn now and then.
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

/** Resolves in a turn of the event loop that has not begun. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
