import { machineMs } from '../measuring/stopwatch.ts'

/** How a queue is used while it is measured. */
export interface Load {
  /** Loops that run beside each other, each waiting for its own calls. */
  readonly callers: number
  /** Messages of one call. */
  readonly batch: number
  readonly seconds: number
}

/** A queue of some system. Its rates are messages per second, of calls that are durable. */
export interface QueueRates extends AsyncDisposable {
  sends(load: Load): Promise<number>
  /** Received and completed. */
  receives(load: Load): Promise<number>
  /** Sent, received and completed. */
  trips(load: Load): Promise<number>
}

/** A queue whose messages are fetched by calls. */
export interface CalledQueue extends AsyncDisposable {
  /** Sends new messages with one call. */
  send(count: number): Promise<void>
  /** Receives up to `count` with one call, without waiting, and completes them. Resolves with how many. */
  take(count: number): Promise<number>
}

/** Messages of one call that fills a queue. */
const FILL_BATCH = 500
const FILLERS = 4
/** A caller with single calls gets no more than this out of a queue in a second, nor do all of them together. */
const MOST_PER_CALLER = 2_000
const MOST_OF_ALL = 15_000

/** What has to wait in a queue so that it lasts as long as a measurement of receiving. */
export function messagesFor({ callers, batch, seconds }: Load): number {
  return Math.ceil(Math.min(callers * batch * MOST_PER_CALLER, MOST_OF_ALL) * seconds) + batch
}

/** Sends `count` messages in large calls. */
export async function fillWith(
  send: (count: number) => Promise<unknown>,
  count: number,
): Promise<void> {
  let left = count
  const filler = async (): Promise<void> => {
    while (left > 0) {
      const some = Math.min(left, FILL_BATCH)
      left -= some
      await send(some)
    }
  }
  await Promise.all(Array.from({ length: FILLERS }, filler))
}

/** Items per second of callers that call again and again. Ends early when a call does nothing. */
export async function rateOfCallers(
  call: (caller: number) => Promise<number>,
  { callers, seconds }: Pick<Load, 'callers' | 'seconds'>,
): Promise<number> {
  const started = machineMs()
  const end = started + seconds * 1000
  let items = 0
  let endedMs = started
  let isOver = false
  const loop = async (caller: number): Promise<void> => {
    while (!isOver) {
      const done = await call(caller)
      items += done
      endedMs = machineMs()
      isOver ||= done === 0 || endedMs >= end
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => loop(caller)))
  return (items / (endedMs - started)) * 1000
}

/** The rates of a queue that is called. */
export class RatesOfCalls implements QueueRates {
  readonly #queue: CalledQueue
  #waiting = 0

  constructor(queue: CalledQueue) {
    this.#queue = queue
  }

  sends({ batch, ...load }: Load): Promise<number> {
    return rateOfCallers(async () => {
      await this.#send(batch)
      return batch
    }, load)
  }

  async receives({ batch, ...load }: Load): Promise<number> {
    const missing = messagesFor({ batch, ...load }) - this.#waiting
    await fillWith((count) => this.#send(count), missing)
    return rateOfCallers(() => this.#take(batch), load)
  }

  trips({ batch, ...load }: Load): Promise<number> {
    return rateOfCallers(async () => {
      await this.#send(batch)
      // What others have taken of it they have sent before.
      for (let taken = 0; taken < batch;) taken += await this.#take(batch - taken)
      return batch
    }, load)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]()
  }

  async #send(count: number): Promise<void> {
    await this.#queue.send(count)
    this.#waiting += count
  }

  async #take(count: number): Promise<number> {
    const taken = await this.#queue.take(count)
    this.#waiting -= taken
    return taken
  }
}
