/** Lanes pass it before each action. While it is shut, none begins, and those that run come to their end. */
export class Gate {
  #opening = Promise.withResolvers<void>()
  #isOpen = false
  #running = 0
  #emptied: (() => void) | undefined

  open(): void {
    this.#isOpen = true
    this.#opening.resolve()
  }

  /** Resolves when nothing runs behind it. */
  async shut(): Promise<void> {
    if (this.#isOpen) this.#opening = Promise.withResolvers<void>()
    this.#isOpen = false
    if (this.#running === 0) return
    await new Promise<void>((resolve) => (this.#emptied = resolve))
  }

  async run(action: () => Promise<void>): Promise<void> {
    while (!this.#isOpen) await this.#opening.promise
    this.#running++
    try {
      await action()
    } finally {
      this.#running--
      if (this.#running === 0) this.#emptied?.()
    }
  }
}
