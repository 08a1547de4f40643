import type { Clock } from '@tidemark/contracts'

type Listener = (entities: readonly number[] | undefined) => void

export interface MessageWatchOptions {
  readonly clock: Clock
  /** Whether commits of other processes are reported at present. */
  readonly hears: () => boolean
  readonly pollIntervalMs: number
}

/**
 * Who waits for messages of one database. While other processes' commits are not reported, it says now and then that
 * anything may have changed. Otherwise it has no timer.
 */
export class MessageWatch {
  readonly #options: MessageWatchOptions
  readonly #listeners = new Set<{ readonly listener: Listener }>()
  #polling: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined

  constructor(options: MessageWatchOptions) {
    this.#options = options
  }

  /** See `MessageEngine.watch`. */
  add(listener: Listener): () => void {
    const entry = { listener }
    this.#listeners.add(entry)
    this.deafened()
    return () => {
      this.#listeners.delete(entry)
      if (this.#listeners.size === 0) this.#polling?.stop.abort()
    }
  }

  /** Undefined: anything may have changed. */
  tell(entities: readonly number[] | undefined): void {
    for (const { listener } of this.#listeners) listener(entities)
  }

  /** Commits of other processes may not be reported from here on. */
  deafened(): void {
    if (this.#polling !== undefined || this.#listeners.size === 0 || this.#options.hears()) return
    const stop = new AbortController()
    const ended = this.#poll(stop.signal).finally(() => {
      this.#polling = undefined
      // A listener came while it was being stopped.
      this.deafened()
    })
    this.#polling = { stop, ended }
  }

  /** The database has ended: listeners learn it from their next look. */
  async end(): Promise<void> {
    this.tell(undefined)
    this.#listeners.clear()
    this.#polling?.stop.abort()
    await this.#polling?.ended
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { clock, pollIntervalMs, hears } = this.#options
    while (!hears() && this.#listeners.size > 0) {
      try {
        await clock.sleep(pollIntervalMs, signal, { purpose: 'background' })
      } catch {
        return
      }
      this.tell(undefined)
    }
  }
}
