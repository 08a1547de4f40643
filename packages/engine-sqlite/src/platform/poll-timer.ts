/** Calls a function every `intervalMs` while it is started; never keeps the process alive. */
export class PollTimer {
  readonly #intervalMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  start(poll: () => void): void {
    this.#timer ??= setInterval(poll, this.#intervalMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
