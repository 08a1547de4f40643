import { isSetAborted, type AbortCell } from './abort-cell.ts'

/** Present = aborted. */
type Abort = { readonly reason: unknown } | undefined

/**
 * A signal in a thread for one of the host. Its `aborted`, `reason` and `throwIfAborted` look at shared memory, so that
 * an observer that computes sees the abort between two documents; its event comes with the host's message, when the
 * thread's event loop has its turn.
 */
export class RemoteAbort {
  readonly signal: AbortSignal
  readonly #controller = new AbortController()
  readonly #cell: AbortCell
  #aborted: Abort

  constructor(cell: AbortCell) {
    this.#cell = cell
    this.signal = looking(this.#controller.signal, () => this.#look())
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason }
    this.#controller.abort(this.#aborted.reason)
  }

  /** A signal of this or the other one. */
  or(other: RemoteAbort): AbortSignal {
    const either = AbortSignal.any([this.#controller.signal, other.#controller.signal])
    return looking(either, () => this.#look() ?? other.#look())
  }

  #look(): Abort {
    if (this.#aborted === undefined && isSetAborted(this.#cell)) {
      // The host's reason is still on its way.
      this.#aborted = { reason: new DOMException('This operation was aborted', 'AbortError') }
    }
    return this.#aborted
  }
}

function looking(signal: AbortSignal, look: () => Abort): AbortSignal {
  return Object.defineProperties(signal, {
    aborted: { get: () => look() !== undefined },
    reason: { get: () => look()?.reason },
    throwIfAborted: {
      value: () => {
        const found = look()
        if (found !== undefined) throw found.reason
      },
    },
  })
}
