/** Calls `poll` every `intervalMs` while it is started; never keeps the process alive. */
export class PollTimer {
  readonly #poll: () => void
  readonly #intervalMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(poll: () => void, intervalMs: number) {
    this.#poll = poll
    this.#intervalMs = intervalMs
  }

  start(): void {
    this.#timer ??= setInterval(this.#poll, this.#intervalMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
