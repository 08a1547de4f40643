import { eventLoopTurn } from '@tidemark/contracts/internal'

/** A chunk is full at this number of items, or of characters. */
export const MAX_ITEMS = 256
const MAX_CHARS: number = 2 ** 20

export type ManyOf<Item> = Iterable<Item> | AsyncIterable<Item>

export interface Chunk<Item> {
  readonly items: readonly Item[]
  readonly chars: number
}

/**
 * Reads a source in chunks: what it has in one turn of the event loop, until a chunk is full. What came before the source
 * failed is handed on first. Once `stopped` resolves, nothing more is read, even if the source does not answer.
 */
export async function* readInChunks<Given, Item extends { readonly chars: number }>(
  source: ManyOf<Given>,
  {
    prepare,
    stopped,
    maxItems = MAX_ITEMS,
  }: {
    readonly prepare: (given: Given) => Item
    readonly stopped: Promise<void>
    readonly maxItems?: number | undefined
  },
): AsyncGenerator<Chunk<Item>, void, undefined> {
  const reader = new SourceReader(source, stopped)
  let items: Item[] = []
  let chars = 0
  let failure: { readonly error: unknown } | undefined
  try {
    while (failure === undefined && !reader.hasEnded) {
      const turn = eventLoopTurn()
      try {
        while (items.length < maxItems && chars < MAX_CHARS) {
          const given = await reader.next(items.length > 0 ? turn : undefined)
          if (given === undefined) break
          const item = prepare(given.value)
          items.push(item)
          chars += item.chars
        }
      } catch (error) {
        failure = { error }
      }
      if (items.length > 0) yield { items, chars }
      items = []
      chars = 0
      // Others have their turn.
      await turn
    }
    if (failure !== undefined) throw failure.error
  } finally {
    await reader.close()
  }
}

class SourceReader<Given> {
  #hasEnded = false
  readonly #iterator: Iterator<Given> | AsyncIterator<Given>
  #giveUp: (() => void) | undefined
  /** Asked for, and not there yet. */
  #pending: Promise<IteratorResult<Given>> | undefined

  constructor(source: ManyOf<Given>, stopped: Promise<void>) {
    this.#iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
    void stopped.then(() => {
      this.#hasEnded = true
      this.#giveUp?.()
    })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Undefined when there is no more, or none has come when `patience` resolves. */
  async next(patience: Promise<void> | undefined): Promise<{ readonly value: Given } | undefined> {
    const step = this.#pending ?? this.#iterator.next()
    let result: IteratorResult<Given> | undefined
    if ('then' in step) {
      this.#pending = step
      const wait =
        patience === undefined ? this.#unlessStopped(step) : Promise.race([step, patience])
      result = (await wait) ?? undefined
      if (result === undefined) return undefined
      this.#pending = undefined
    } else result = step
    if (result.done !== true) return result
    this.#hasEnded = true
    return undefined
  }

  /** No race with one promise for all: that would keep what every one of them came to. */
  #unlessStopped(step: Promise<IteratorResult<Given>>): Promise<IteratorResult<Given> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Given> | undefined>()
    this.#giveUp = () => resolve(undefined)
    step.then(resolve, reject)
    return promise
  }

  async close(): Promise<void> {
    const closing = this.#iterator.return?.()
    // A source that is busy closes when it is done; what it had to say is of no interest any more.
    if (this.#pending === undefined) await closing
    else Promise.all([this.#pending, closing]).catch(() => undefined)
  }
}
