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
  readonly #lease: RemoteAbort | undefined
  /** Of calls; weak, because a lease outlives many of them. */
  readonly #followers = new Set<WeakRef<RemoteAbort>>()
  readonly #collected = new FinalizationRegistry<WeakRef<RemoteAbort>>((follower) =>
    this.#followers.delete(follower),
  )
  #aborted: Abort

  /**
   * One with a `lease` ends with that, too. `AbortSignal.any` would not do: it asks `aborted` when somebody begins to
   * listen, and follows nothing any more if the cell was set just then.
   */
  constructor(cell: AbortCell, lease?: RemoteAbort) {
    this.#cell = cell
    this.#lease = lease
    this.signal = looking(this.#controller.signal, () => this.#look())
    if (lease !== undefined) lease.#lead(this)
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason }
    this.#controller.abort(this.#aborted.reason)
    for (const follower of this.#followers) follower.deref()?.abort(this.#aborted.reason)
  }

  #lead(follower: RemoteAbort): void {
    const weak = new WeakRef(follower)
    this.#followers.add(weak)
    this.#collected.register(follower, weak)
  }

  #look(): Abort {
    if (this.#aborted === undefined && isSetAborted(this.#cell)) {
      // The host's reason is still on its way.
      this.#aborted = { reason: new DOMException('This operation was aborted', 'AbortError') }
    }
    if (this.#aborted === undefined && this.#lease !== undefined) {
      this.#aborted = this.#lease.#look()
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
