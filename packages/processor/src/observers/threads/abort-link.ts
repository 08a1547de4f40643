import { newAbortCell, setAborted, type AbortCell } from './abort-cell.ts'

/** Passes one signal's abort on to a thread: by its cell at once, by a message for who listens there. */
export class AbortLink {
  readonly signal: AbortSignal
  readonly cell: AbortCell = newAbortCell()
  readonly #tell: (reason: unknown) => void
  readonly #listener = (): void => this.#pass()

  constructor(signal: AbortSignal, tell: (reason: unknown) => void) {
    this.signal = signal
    this.#tell = tell
    if (signal.aborted) setAborted(this.cell)
    signal.addEventListener('abort', this.#listener, { once: true })
  }

  /** Passes nothing on any more. */
  end(): void {
    this.signal.removeEventListener('abort', this.#listener)
  }

  #pass(): void {
    setAborted(this.cell)
    this.#tell(this.signal.reason)
  }
}
