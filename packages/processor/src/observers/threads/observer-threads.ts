import {
  HostStoppedError,
  InvalidOptionError,
  type Clock,
  type DocumentBody,
} from '@tidemark/contracts'
import type { ResolvedObserverModule } from './observer-module.ts'
import { ObserverThread } from './observer-thread.ts'
import type { ObserverThreadEndedError } from './observer-thread-ended-error.ts'
import type { StartThread } from './thread-messages.ts'
import { ThreadObserver } from './thread-observer.ts'
import { ThreadSlot } from './thread-slot.ts'

export interface ObserverThreadsParts {
  readonly module: ResolvedObserverModule
  readonly startThread: StartThread
  readonly clock: Clock
  /** For a thread to load the module at the start. */
  readonly startTimeoutMs: number
  /** For a blocked thread whose call was given up, and for threads at the end. */
  readonly graceMs: number
  /** A thread ended that nobody ended. */
  readonly onThreadEnd: (error: ObserverThreadEndedError, leaseIds: readonly string[]) => void
}

/** What one pump gets: observers of its lease, and the queue of their thread. */
export interface LeaseObservers<T extends DocumentBody> {
  readonly createObserver: () => ThreadObserver<T>
  readonly queue: { add(task: () => Promise<void>): Promise<unknown> }
}

/** The threads of one host. A lease goes to the thread that has the fewest, and stays there. */
export class ObserverThreads {
  readonly #parts: ObserverThreadsParts
  readonly #slots: readonly ThreadSlot[]
  #isStopped = false

  constructor(parts: ObserverThreadsParts) {
    this.#parts = parts
    const { threads, maxConcurrentPerThread: maxConcurrent } = parts.module
    const { onThreadEnd } = parts
    this.#slots = Array.from(
      { length: threads },
      () =>
        new ThreadSlot({
          maxConcurrent,
          onThreadEnd,
          startThread: (onEnd) => this.#startThread(onEnd),
        }),
    )
  }

  /**
   * Starts the first thread, to see that the module is of use.
   *
   * Rejects with ERR_INVALID_OPTION if it is not, or with the reason of `signal`.
   */
  async load(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { clock, startTimeoutMs, module } = this.#parts
    const over = new AbortController()
    const tooLong = async (): Promise<never> => {
      await clock.sleep(startTimeoutMs, AbortSignal.any([signal, over.signal]))
      throw new InvalidOptionError(
        `observerModule ${module.href} was not loaded within ${startTimeoutMs} ms`,
      )
    }
    try {
      await Promise.race([this.#slotWithMostRoom().thread().ready, tooLong()])
    } finally {
      over.abort()
    }
  }

  /** For one pump. */
  forLease<T extends DocumentBody>(): LeaseObservers<T> {
    const { clock, graceMs } = this.#parts
    let last: ThreadObserver<T> | undefined
    return {
      createObserver: () => {
        last = new ThreadObserver<T>({ place: () => this.#slotWithMostRoom(), clock, graceMs })
        return last
      },
      queue: {
        // Without an observer there is nothing that a call could wait for.
        add: (task) => last?.slot?.calls.add(task) ?? task(),
      },
    }
  }

  /** Ends all threads, when the observers were closed. Resolves when they are gone. May be repeated. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const { clock, graceMs } = this.#parts
    await Promise.all(this.#slots.map(async (slot) => slot.lastThread?.end(clock, graceMs)))
  }

  #slotWithMostRoom(): ThreadSlot {
    const [first, ...others] = this.#slots
    if (first === undefined) throw new RangeError('there is at least one thread')
    return others.reduce((best, slot) => (slot.tenants < best.tenants ? slot : best), first)
  }

  #startThread(onUnexpectedEnd: (error: ObserverThreadEndedError) => void): ObserverThread {
    if (this.#isStopped) throw new HostStoppedError('the threads of the observers were ended')
    const { module, startThread } = this.#parts
    return new ObserverThread({ start: startThread, href: module.href, onUnexpectedEnd })
  }
}
