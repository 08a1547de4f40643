/**
 * Starts the calls of the leases of one thread in the order in which they come, so many at a time. A place is taken
 * until the call's task has ended and the call itself has settled in the thread, whichever is later: a thread that is
 * still busy with a call that nobody waits for any more gets no other.
 */
export class CallQueue {
  /** Asked before each start. */
  readonly #places: () => number
  readonly #waiting: (() => void)[] = []
  #tasks = 0
  #calls = 0

  constructor(places: () => number) {
    this.#places = places
  }

  /** Settles as the task does. */
  add(task: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const run = async (): Promise<void> => {
        try {
          await task()
          resolve()
        } catch (error) {
          reject(error)
        } finally {
          this.#tasks -= 1
          this.look()
        }
      }
      this.#waiting.push(() => void run())
      this.look()
    })
  }

  callBegan(): void {
    this.#calls += 1
  }

  callEnded(): void {
    this.#calls -= 1
    this.look()
  }

  /** Starts what may start. To be called when the number of places has changed. */
  look(): void {
    // A task's call begins within its start, so that the two are never counted twice.
    while (this.#waiting.length > 0 && Math.max(this.#tasks, this.#calls) < this.#places()) {
      const start = this.#waiting.shift()
      this.#tasks += 1
      start?.()
    }
  }
}
