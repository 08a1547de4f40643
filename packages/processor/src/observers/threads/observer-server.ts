import {
  InvalidOptionError,
  LeaseLostError,
  type Change,
  type IChangeFeedObserver,
  type ObserverContext,
} from '@tidemark/contracts'
import { changesOfPortable, damageIn } from '@tidemark/contracts/internal'
import type { ObserverMaker } from './observer-export.ts'
import { portableThrown, thrownFromPortable, type PortableThrown } from './portable-error.ts'
import { RemoteAbort } from './remote-abort.ts'
import type { CallMessage, FromThread, ToThread } from './thread-messages.ts'

interface ServedObserver {
  /** Rejects when it could not be made. */
  readonly made: Promise<IChangeFeedObserver>
  readonly abort: RemoteAbort
  /** Of calls in flight whose signal is not the lease's. */
  readonly callAborts: Map<number, RemoteAbort>
  isClosed: boolean
}

/** The thread's side: makes observers and calls them as the host says. */
export class ObserverServer {
  readonly #make: ObserverMaker
  readonly #data: unknown
  readonly #post: (message: FromThread) => void
  readonly #observers = new Map<number, ServedObserver>()
  readonly #checkpoints = new Map<number, PromiseWithResolvers<void>>()
  /** By the contexts' functions: whoever took one out of its context may call it without that. */
  readonly #contexts = new FinalizationRegistry<number>((call) =>
    this.#post({ kind: 'forget', call }),
  )
  #lastCheckpoint = 0

  constructor({
    make,
    data,
    post,
  }: {
    readonly make: ObserverMaker
    readonly data: unknown
    readonly post: (message: FromThread) => void
  }) {
    this.#make = make
    this.#data = data
    this.#post = post
  }

  receive(message: Exclude<ToThread, { readonly kind: 'end' }>): void {
    switch (message.kind) {
      case 'call':
        void this.#serve(message)
        return
      case 'abort': {
        const served = this.#observers.get(message.observer)
        const { call, reason } = message
        const abort = call === undefined ? served?.abort : served?.callAborts.get(call)
        abort?.abort(thrownFromPortable(reason))
        return
      }
      case 'checkpointed':
        this.#checkpointed(message)
        return
    }
  }

  async #serve(message: CallMessage): Promise<void> {
    const { call } = message
    let error: PortableThrown | undefined
    try {
      await this.#perform(message)
    } catch (thrown) {
      error = portableThrown(thrown)
    }
    this.#post({ kind: 'settled', call, error })
  }

  async #perform(message: CallMessage): Promise<void> {
    if (message.act.kind === 'open') {
      await this.#open(message)
      return
    }
    const served = this.#observers.get(message.observer)
    if (served === undefined) throw new LeaseLostError(message.context.leaseId)
    if (message.act.kind === 'close') {
      await this.#close(served, message)
      return
    }
    // A call's own signal ends with its lease's, however long the observer keeps it.
    const own = message.abortCell && new RemoteAbort(message.abortCell, served.abort)
    const { signal } = own ?? served.abort
    if (own !== undefined) served.callAborts.set(message.call, own)
    try {
      // The message may have waited in a busy thread for longer than the lease was good.
      signal.throwIfAborted()
      const observer = await served.made
      if (message.act.kind === 'resynchronize') {
        const context = this.#context(message, { served, signal })
        await observer.resynchronize?.(context, message.act.resync)
        return
      }
      const given = message.act.changes
      const changes = 'rows' in given ? changesOfPortable(given) : given
      const context = this.#context(message, { served, signal, changes })
      try {
        await observer.processChanges(context, changes)
      } finally {
        // Whatever the observer made of it.
        assertUndamaged(changes)
      }
    } finally {
      served.callAborts.delete(message.call)
    }
  }

  async #open(message: CallMessage): Promise<void> {
    const { observer: number, abortCell } = message
    if (abortCell === undefined) throw new TypeError('an open has the cell of its lease')
    const abort = new RemoteAbort(abortCell)
    abort.signal.throwIfAborted()
    const served: ServedObserver = {
      made: this.#makeObserver(),
      abort,
      callAborts: new Map(),
      isClosed: false,
    }
    this.#observers.set(number, served)
    const observer = await served.made
    await observer.open?.(this.#context(message, { served, signal: abort.signal }))
  }

  async #makeObserver(): Promise<IChangeFeedObserver> {
    const made: unknown = await this.#make(structuredClone(this.#data))
    if (isObserver(made)) return made
    throw new InvalidOptionError(
      `the factory of observerModule must make an observer with processChanges, it made ${
        made === null ? 'null' : typeof made
      }`,
    )
  }

  async #close(served: ServedObserver, message: CallMessage): Promise<void> {
    const { observer: number, act, call } = message
    if (act.kind !== 'close') return
    this.#post({ kind: 'closing', call })
    try {
      const observer = await served.made.catch(() => undefined)
      await observer?.close?.(
        this.#context(message, { served, signal: served.abort.signal }),
        act.reason,
      )
    } finally {
      served.isClosed = true
      this.#observers.delete(number)
      served.abort.abort(new DOMException('This operation was aborted', 'AbortError'))
    }
  }

  #context(
    { context, call }: CallMessage,
    {
      served,
      signal,
      changes = [],
    }: { served: ServedObserver; signal: AbortSignal; changes?: readonly Change[] },
  ): ObserverContext {
    const checkpoint = async (): Promise<void> => {
      if (served.isClosed) throw new LeaseLostError(context.leaseId)
      assertUndamaged(changes)
      this.#lastCheckpoint += 1
      const checkpoint = this.#lastCheckpoint
      const waiter = Promise.withResolvers<void>()
      this.#checkpoints.set(checkpoint, waiter)
      this.#post({ kind: 'checkpoint', call, checkpoint })
      await waiter.promise
    }
    this.#contexts.register(checkpoint, call)
    return { ...context, signal, checkpoint }
  }

  #checkpointed({ checkpoint, error }: Extract<ToThread, { kind: 'checkpointed' }>): void {
    const waiter = this.#checkpoints.get(checkpoint)
    this.#checkpoints.delete(checkpoint)
    if (error === undefined) waiter?.resolve()
    else waiter?.reject(thrownFromPortable(error))
  }
}

/** @throws ERR_STORE_DAMAGED */
function assertUndamaged(changes: readonly Change[]): void {
  const damage = damageIn(changes)
  if (damage !== undefined) throw damage.error
}

function isObserver(value: unknown): value is IChangeFeedObserver {
  return (
    typeof value === 'object' &&
    value !== null &&
    'processChanges' in value &&
    typeof value.processChanges === 'function'
  )
}
