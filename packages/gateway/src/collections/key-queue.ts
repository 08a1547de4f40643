/** Lets those who name the same key act one after the other. */
export class KeyQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Result>(key: string, act: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key)
    const mine = before === undefined ? act() : after(before, act)
    // Those who follow wait for the end, whatever it is.
    const ended = mine.catch(() => {})
    this.#last.set(key, ended)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}

async function after<Result>(
  before: Promise<unknown>,
  act: () => Promise<Result>,
): Promise<Result> {
  await before
  return act()
}
