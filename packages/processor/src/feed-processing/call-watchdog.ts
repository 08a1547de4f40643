import { ObserverStuckError, type Clock } from '@tidemark/contracts'

export interface CallWatchdogOptions {
  readonly clock: Clock
  /** Infinity = none. */
  readonly maxBatchMs: number
  readonly onStuck: (error: ObserverStuckError, inFlightMs: number) => void
}

/** Notices a call of an observer that does not return. One timer, whatever the number of calls. */
export class CallWatchdog {
  readonly #options: CallWatchdogOptions
  /** When each call in flight began and last came forward: the one that did so the longest ago first. */
  readonly #calls = new Map<object, { readonly beganMs: number; readonly forwardMs: number }>()
  readonly #stop = new AbortController()
  #isWatching = false

  constructor(options: CallWatchdogOptions) {
    this.#options = options
  }

  /** When the oldest call in flight began; undefined when there is none. */
  get oldestMs(): number | undefined {
    let oldestMs: number | undefined
    for (const { beganMs } of this.#calls.values())
      oldestMs = Math.min(beganMs, oldestMs ?? beganMs)
    return oldestMs
  }

  began(call: object): void {
    const beganMs = this.#options.clock.monotonicMs()
    this.#calls.set(call, { beganMs, forwardMs: beganMs })
    if (!this.#isWatching && this.#options.maxBatchMs !== Infinity) void this.#watch()
  }

  /** What it is measured by begins now. */
  cameForward(call: object): void {
    const present = this.#calls.get(call)
    if (present === undefined) return
    this.#calls.delete(call)
    this.#calls.set(call, { ...present, forwardMs: this.#options.clock.monotonicMs() })
  }

  ended(call: object): void {
    this.#calls.delete(call)
  }

  /** No call is made any more. */
  stop(): void {
    this.#stop.abort()
  }

  /** As long as there are calls. Never rejects. */
  async #watch(): Promise<void> {
    const { clock, maxBatchMs, onStuck } = this.#options
    this.#isWatching = true
    try {
      for (;;) {
        const [oldest] = this.#calls.values()
        if (oldest === undefined) return
        const leftMs = oldest.forwardMs + maxBatchMs - clock.monotonicMs()
        if (leftMs <= 0) {
          const inFlightMs = clock.monotonicMs() - oldest.forwardMs
          onStuck(
            new ObserverStuckError(
              `a call of the observer has been running for ${Math.round(inFlightMs)} ms; maxBatchMs is ${maxBatchMs}`,
            ),
            inFlightMs,
          )
          return
        }
        await clock.sleep(leftMs, this.#stop.signal, { purpose: 'background' })
      }
    } catch {
      // Stopped.
    } finally {
      this.#isWatching = false
    }
  }
}
