/** One that stands in a queue. */
export interface Pending<Item> {
  /** Resolves with at least one, or with none if it does not wait, or no longer waits. */
  readonly delivered: Promise<readonly Item[]>
  /** It no longer waits. What a command that is on its way brings is still delivered. */
  cancel(): void
  /** Calls this once the first command has found nothing for it: most need no timer of their own. */
  whenWaiting(begin: () => void): void
}

/** The most requests in one command. */
const MAX_REQUESTS = 256

interface Entry<Request, Item> {
  readonly request: Request
  isCancelled: boolean
  isWaiting: boolean
  onWaiting: (() => void) | undefined
  resolve(items: readonly Item[]): void
  reject(error: unknown): void
}

/**
 * Those in this broker who wait for messages of one entity or of one session, or for sessions of one entity: first come,
 * first served. However many wait, one call of `take` at a time asks for all of them. It answers in their order; those at the end
 * that it leaves out are asked for again.
 */
export class WaitingQueue<Request extends { readonly waits: boolean }, Item> {
  readonly #take: (requests: readonly Request[]) => Promise<readonly (readonly Item[])[]>
  readonly #onEmpty: () => void
  /** In the order in which they came. */
  readonly #entries = new Set<Entry<Request, Item>>()
  /** Those that the command on its way asks for. */
  #asked: ReadonlySet<Entry<Request, Item>> = new Set()
  #mayFind = false
  /** The last command found nothing: only those who do not wait need another one. */
  #hasFoundNothing = false
  #serving: Promise<void> | undefined

  /** `onEmpty`: somebody found nothing and waits. */
  constructor(
    take: (requests: readonly Request[]) => Promise<readonly (readonly Item[])[]>,
    onEmpty: () => void,
  ) {
    this.#take = take
    this.#onEmpty = onEmpty
  }

  /** Whether somebody waits. */
  get isAwaited(): boolean {
    return this.#entries.size > 0
  }

  ask(request: Request): Pending<Item> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Item[]>()
    const entry: Entry<Request, Item> = {
      request,
      isCancelled: false,
      isWaiting: false,
      onWaiting: undefined,
      resolve,
      reject,
    }
    this.#entries.add(entry)
    this.wake()
    return {
      delivered: promise,
      cancel: () => {
        entry.isCancelled = true
        if (!this.#asked.has(entry)) this.#remove(entry, [])
      },
      whenWaiting: (begin) => {
        if (entry.isWaiting) begin()
        else entry.onWaiting = begin
      },
    }
  }

  /** There may be messages. Whoever waits is served. */
  wake(): void {
    this.#mayFind = true
    this.#serving ??= this.#serve()
  }

  /** Rejects all that wait. Those whom a command is asking for get its answer. */
  fail(error: unknown): void {
    for (const entry of this.#entries) {
      if (this.#asked.has(entry)) continue
      this.#entries.delete(entry)
      entry.reject(error)
    }
  }

  /** Resolves when no command is on its way. */
  async idle(): Promise<void> {
    await this.#serving
  }

  async #serve(): Promise<void> {
    // Those who ask in the same turn go together.
    await Promise.resolve()
    while (this.#mayFind && this.isAwaited) {
      this.#mayFind = false
      await this.#serveFirst(this.#nextEntries())
    }
    this.#serving = undefined
    if (this.isAwaited) this.#onEmpty()
  }

  /** Those who do not wait may stand behind more who wait than one command asks for. */
  #nextEntries(): readonly Entry<Request, Item>[] {
    const all = [...this.#entries]
    const hasty = this.#hasFoundNothing ? all.filter(({ request }) => !request.waits) : []
    return (hasty.length > 0 ? hasty : all).slice(0, MAX_REQUESTS)
  }

  async #serveFirst(entries: readonly Entry<Request, Item>[]): Promise<void> {
    this.#asked = new Set(entries)
    let answered = entries
    try {
      const answers = await this.#take(entries.map(({ request }) => request))
      for (const [place, entry] of entries.entries()) {
        const items = answers[place]
        const hasAnswer = items !== undefined && (items.length > 0 || !entry.request.waits)
        if (hasAnswer || entry.isCancelled) this.#remove(entry, items ?? [])
      }
      answered = entries.slice(0, answers.length)
    } catch (error) {
      for (const entry of entries) {
        this.#entries.delete(entry)
        entry.reject(error)
      }
    }
    this.#asked = new Set()
    // Those behind the limit have not been asked for, unless somebody before them found nothing any more.
    const isEmpty = answered.some((entry) => this.#entries.has(entry))
    this.#hasFoundNothing = isEmpty
    if (isEmpty) for (const entry of this.#entries) beginWaiting(entry)
    if (!isEmpty || [...this.#entries].some(({ request }) => !request.waits)) this.#mayFind = true
  }

  #remove(entry: Entry<Request, Item>, items: readonly Item[]): void {
    if (this.#entries.delete(entry)) entry.resolve(items)
  }
}

function beginWaiting<Request, Item>(entry: Entry<Request, Item>): void {
  if (entry.isWaiting) return
  entry.isWaiting = true
  entry.onWaiting?.()
}
