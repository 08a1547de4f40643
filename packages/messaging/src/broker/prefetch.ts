import type { Clock } from '@tidemark/contracts'
import type { ReceiveMode } from '@tidemark/store/messages'
import { Bell } from './bell.ts'
import type { Intake, ReceiveQueue, ReceiveRequest } from './receive-queue.ts'
import type { Received } from './received.ts'
import { WaitingQueue, type Pending } from './waiting-queue.ts'

export interface PrefetchParts {
  readonly clock: Clock
  readonly source: ReceiveQueue
  readonly mode: ReceiveMode
  /** How many it keeps. */
  readonly count: number
  readonly isStillLocked: (received: Received) => boolean
  readonly giveBack: (received: readonly Received[]) => void
}

/** Keeps messages locked ahead of the calls that want them. One whose lock has ended meanwhile is not handed out. */
export class Prefetch implements Intake {
  readonly #parts: PrefetchParts
  readonly #bell: Bell
  readonly #stop = new AbortController()
  readonly #waiting: WaitingQueue<ReceiveRequest, Received>
  #ahead: Received[] = []
  #pending: Pending<Received> | undefined
  #run: Promise<void> | undefined

  constructor(parts: PrefetchParts) {
    this.#parts = parts
    this.#bell = new Bell(parts.clock)
    this.#waiting = new WaitingQueue(
      (requests) => this.#serve(requests),
      () => undefined,
    )
  }

  start(): void {
    this.#run ??= this.#fill()
  }

  ask(request: ReceiveRequest): Pending<Received> {
    return this.#waiting.ask(request)
  }

  /** Gives back what nobody saw. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#pending?.cancel()
    this.#bell.ring()
    await this.#run
    this.#parts.giveBack(this.#ahead)
    this.#ahead = []
  }

  async #serve(requests: readonly ReceiveRequest[]): Promise<readonly (readonly Received[])[]> {
    const answers: (readonly Received[])[] = []
    for (const request of requests) {
      let received = this.#next(request.max)
      if (received.length === 0 && !request.waits) {
        received = await this.#parts.source.ask(request).delivered
        // What was there may have come here instead, because this asked first.
        if (received.length === 0) received = this.#next(request.max)
      }
      answers.push(received)
    }
    this.#bell.ring()
    return answers
  }

  #next(max: number): readonly Received[] {
    this.#ahead = this.#ahead.filter((received) => this.#parts.isStillLocked(received))
    return this.#ahead.splice(0, max)
  }

  async #fill(): Promise<void> {
    const { count, mode, source } = this.#parts
    while (!this.#stop.signal.aborted) {
      const missing = count - this.#ahead.length
      if (missing <= 0) {
        await this.#bell.wait(undefined, this.#stop.signal)
        continue
      }
      try {
        this.#pending = source.ask({ mode, max: missing, waits: true })
        const received = await this.#pending.delivered
        this.#ahead.push(...received)
        this.#waiting.wake()
      } catch (error) {
        this.#waiting.fail(error)
        // The next one who asks makes it try again.
        await this.#bell.wait(undefined, this.#stop.signal)
      }
    }
  }
}
