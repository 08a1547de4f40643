interface Waiting<Request, Answer> {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The most calls of one group. */
const MAX_GROUP = 500

/** Calls that are made while a group of them is on its way go together in the next group. */
export class GroupedCalls<Request, Answer> {
  readonly #perform: (requests: readonly Request[]) => Promise<readonly Answer[]>
  #waiting: Waiting<Request, Answer>[] = []
  #running: Promise<void> | undefined

  /** `perform` answers in the order of the requests. */
  constructor(perform: (requests: readonly Request[]) => Promise<readonly Answer[]>) {
    this.#perform = perform
  }

  call(request: Request): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#waiting.push({ request, resolve, reject })
    this.#running ??= this.#run()
    return promise
  }

  /** Resolves when none is on its way. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    // Calls of one turn go together, too.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#performGroup(this.#waiting.splice(0, MAX_GROUP))
    this.#running = undefined
  }

  async #performGroup(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const answers = await this.#perform(group.map(({ request }) => request))
      for (const [place, { resolve, reject }] of group.entries()) {
        const answer = answers[place]
        if (answer === undefined) reject(new Error(`a group has no answer at ${place}`))
        else resolve(answer)
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
}
