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

  /**
   * Waits until `task` settles, and rejects as it does. False when `isGivenUp` says at a ring that
   * nobody waits for it any more.
   */
  async untilSettled(task: Promise<unknown>, isGivenUp: () => boolean): Promise<boolean> {
    let outcome: { readonly error: unknown; readonly failed: boolean } | undefined
    task.then(
      () => {
        outcome = { failed: false, error: undefined }
        this.ring()
      },
      (error: unknown) => {
        outcome = { failed: true, error }
        this.ring()
      },
    )
    while (outcome === undefined) {
      if (isGivenUp()) return false
      await this.next
    }
    if (outcome.failed) throw outcome.error
    return true
  }
}
