import type { Clock, CloseReason } from '@tidemark/contracts'
import type { Bell } from './bell.ts'

/** Whether a pump is to end: not yet, when all that it has taken is done, or without another call. */
export type EndStage = 'no' | 'finishing' | 'now'

/** A chain of causes may have no end. */
const MAX_CAUSES = 10

/** When and how a pump is to end. The first abort is final; a drain may still become an abort. */
export class PumpEnding {
  /** True: a drain lets everything that was taken be done first. */
  readonly #finishesWork: boolean
  readonly #clock: Clock
  readonly #graceMs: number
  readonly #bell: Bell
  /** Ends waits of the pump itself. */
  readonly #ended = new AbortController()
  /** What the observer sees. */
  readonly #aborted = new AbortController()
  readonly #finished = new AbortController()
  #asked: { readonly how: 'drain' | 'abort'; readonly reason: CloseReason } | undefined
  #graceIsOver = false
  /** Looks at what is the case now. */
  readonly #watchers = new Set<() => void>()

  constructor({
    clock,
    graceMs,
    bell,
    finishesWork,
  }: {
    clock: Clock
    graceMs: number
    bell: Bell
    finishesWork: boolean
  }) {
    this.#finishesWork = finishesWork
    this.#clock = clock
    this.#graceMs = graceMs
    this.#bell = bell
  }

  get isAsked(): boolean {
    return this.#asked !== undefined
  }

  get isAbort(): boolean {
    return this.#asked?.how === 'abort'
  }

  /** Whether observers are called no more. */
  get endsCalls(): boolean {
    return this.isAbort || (this.isAsked && !this.#finishesWork)
  }

  get stage(): EndStage {
    if (this.endsCalls) return 'now'
    return this.isAsked ? 'finishing' : 'no'
  }

  get reason(): CloseReason | undefined {
    return this.#asked?.reason
  }

  /** An aborted call has had its time to settle. */
  get graceIsOver(): boolean {
    return this.#graceIsOver
  }

  get endedSignal(): AbortSignal {
    return this.#ended.signal
  }

  get abortedSignal(): AbortSignal {
    return this.#aborted.signal
  }

  /** Whether a failure is only that of a call which heeded the abort. */
  explains(error: unknown): boolean {
    return this.isAbort && isAbortError(error)
  }

  /** False when it comes too late to change anything. */
  ask(how: 'drain' | 'abort', reason: CloseReason): boolean {
    if (this.#finished.signal.aborted || this.isAbort) return false
    this.#asked = { how, reason }
    this.#ended.abort()
    if (how === 'abort') {
      this.#aborted.abort()
      void this.#startGrace()
    }
    this.#changed()
    return true
  }

  /**
   * Waits until `task` settles, and rejects as it does. False as soon as `isGivenUp` says, of what is asked of
   * the pump, that nobody waits for it any more. @default when it is to end
   */
  untilSettled(
    task: Promise<unknown>,
    isGivenUp: () => boolean = () => this.isAsked,
  ): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isGivenUp()) return
        this.#watchers.delete(look)
        resolve(false)
      }
      this.#watchers.add(look)
      task.then(
        () => {
          this.#watchers.delete(look)
          resolve(true)
        },
        (error: unknown) => {
          this.#watchers.delete(look)
          reject(error)
        },
      )
      look()
    })
  }

  /** The pump calls nobody any more. */
  finish(): void {
    this.#finished.abort()
    this.#ended.abort()
    this.#aborted.abort()
  }

  async #startGrace(): Promise<void> {
    try {
      await this.#clock.sleep(this.#graceMs, this.#finished.signal)
    } catch {
      return
    }
    this.#graceIsOver = true
    this.#changed()
  }

  #changed(): void {
    for (const look of this.#watchers) look()
    this.#bell.ring()
  }
}

/** Clients reject with the reason of a signal, with an error of the same name, or with one of their own caused by it. */
function isAbortError(error: unknown): boolean {
  try {
    let cause = error
    for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth += 1) {
      if (cause.name === 'AbortError') return true
      cause = cause.cause
    }
  } catch {
    // Its getters throw: no client rejects with that.
  }
  return false
}
