import { EXIT, type ExitCode } from './exit-codes.ts'

/** Turns SIGINT and SIGTERM into an abort, so that a command ends cleanly. A second signal ends it at once. */
export class Interruption implements Disposable {
  readonly #controller = new AbortController()
  readonly #listeners = new Map<'SIGINT' | 'SIGTERM', () => void>()
  #exitCode: ExitCode | undefined

  constructor() {
    this.#listen('SIGINT', EXIT.interrupted)
    this.#listen('SIGTERM', EXIT.terminated)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Undefined while there was no signal. */
  get exitCode(): ExitCode | undefined {
    return this.#exitCode
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener)
    this.#listeners.clear()
  }

  #listen(name: 'SIGINT' | 'SIGTERM', exitCode: ExitCode): void {
    const listener = (): void => {
      if (this.#exitCode !== undefined) process.exit(exitCode)
      this.#exitCode = exitCode
      this.#controller.abort(new Error(`interrupted by ${name}`))
    }
    this.#listeners.set(name, listener)
    process.on(name, listener)
  }
}
