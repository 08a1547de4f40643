import { isRefused } from '../errors/is-retryable.ts'

/** How much of a command a call takes. */
export interface LaneWeight {
  readonly items: number
  readonly bytes: number
}

/** The most of one command, unless its first call alone is more. */
const MAX_ITEMS = 1_000
const MAX_BYTES = 4 * 1024 * 1024

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly weight: LaneWeight
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Calls of one kind on one entity. Those that are made while a command is on its way go together in the next one, in
 * their order, and each gets its own part of the answer.
 */
export class CommandLane<Request, Answer> {
  readonly #perform: (requests: readonly Request[]) => Promise<readonly Answer[]>
  readonly #weigh: (request: Request) => LaneWeight
  #waiting: Waiting<Request, Answer>[] = []
  #running: Promise<void> | undefined

  /**
   * `perform` answers in the order of the requests, at least the first of them: the others are performed after it. What it
   * has not answered it has not done.
   */
  constructor(
    perform: (requests: readonly Request[]) => Promise<readonly Answer[]>,
    weigh: (request: Request) => LaneWeight,
  ) {
    this.#perform = perform
    this.#weigh = weigh
  }

  /**
   * A signal takes the call out before its command was sent. Afterwards the call rejects with the reason, too, but the
   * command goes on.
   */
  call(request: Request, signal?: AbortSignal): Promise<Answer> {
    if (signal?.aborted === true) return Promise.reject<Answer>(signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const waiting = { request, weight: this.#weigh(request), resolve, reject }
    this.#waiting.push(waiting)
    this.#running ??= this.#run()
    return signal === undefined ? promise : this.#abortable(waiting, promise, signal)
  }

  /** Resolves when none is on its way. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #abortable(
    waiting: Waiting<Request, Answer>,
    answer: Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const onAbort = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting)
      waiting.reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await answer
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async #run(): Promise<void> {
    // Calls of one turn go together, too.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#performGroup(this.#takeGroup())
    this.#running = undefined
  }

  #takeGroup(): readonly Waiting<Request, Answer>[] {
    let items = 0
    let bytes = 0
    const end = this.#waiting.findIndex(({ weight }, place) => {
      items += weight.items
      bytes += weight.bytes
      return place > 0 && (items > MAX_ITEMS || bytes > MAX_BYTES)
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #performGroup(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    for (let rest = group; rest.length > 0;) {
      try {
        const answers = await this.#perform(rest.map(({ request }) => request))
        if (answers.length === 0) throw new Error('a command has no answer')
        for (const [place, answer] of answers.entries()) rest[place]?.resolve(answer)
        rest = rest.slice(answers.length)
      } catch (error) {
        if (rest.length === 1 || !isRefused(error)) {
          for (const { reject } of rest) reject(error)
          return
        }
        // What is wrong with one call is no error of the others.
        for (const one of rest) await this.#performGroup([one])
        return
      }
    }
  }
}
