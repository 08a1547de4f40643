/** Wakes everyone who waits for its next ring. What a ring means is for the waiter to look up. */
export class Bell {
  #next = Promise.withResolvers<void>()

  /** Resolves at the next ring. */
  get next(): Promise<void> {
    return this.#next.promise
  }

  ring(): void {
    const rung = this.#next
    this.#next = Promise.withResolvers<void>()
    rung.resolve()
  }
}
