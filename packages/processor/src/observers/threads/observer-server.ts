import {
  InvalidOptionError,
  LeaseLostError,
  type Change,
  type ObserverContext,
} from '@tidemark/contracts'
import { changesOfPortable, damageIn } from '@tidemark/contracts/internal'
import {
  batchObserver,
  isObserver,
  type BatchObserver,
} from '../../feed-processing/batch-observer.ts'
import { Acceptance } from '../../feed-processing/acceptance.ts'
import { CallProgress, LOOK_MS } from './call-progress.ts'
import type { ObserverMaker } from './observer-export.ts'
import { portableThrown, thrownFromPortable, type PortableThrown } from './portable-error.ts'
import { RemoteAbort } from './remote-abort.ts'
import type { CallMessage, FromThread, ToThread } from './thread-messages.ts'

interface ServedObserver {
  /** Rejects when it could not be made. */
  readonly made: Promise<BatchObserver>
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
  readonly #nowMs: () => number
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
    nowMs,
  }: {
    readonly make: ObserverMaker
    readonly data: unknown
    readonly post: (message: FromThread) => void
    /** Monotonic. */
    readonly nowMs: () => number
  }) {
    this.#make = make
    this.#data = data
    this.#post = post
    this.#nowMs = nowMs
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
      const progress = new CallProgress(message.act.progress)
      if (observer.isOneByOne === true) progress.isOfOneByOne()
      const context = this.#context(message, { served, signal, changes, progress })
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

  async #makeObserver(): Promise<BatchObserver> {
    const made: unknown = await this.#make(structuredClone(this.#data))
    if (isObserver(made)) return batchObserver(made)
    throw new InvalidOptionError(
      `the factory of observerModule must make an observer with processChanges or processChange, it made ${
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
      progress,
    }: {
      served: ServedObserver
      signal: AbortSignal
      changes?: readonly Change[]
      progress?: CallProgress
    },
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
    const onAccepted = this.#teller(call, progress)
    const acceptance = new Acceptance({ changes, from: 0, to: changes.length, onAccepted })
    const accepted = (change: Change): boolean => acceptance.accept(change)
    return { ...context, signal, accepted, checkpoint }
  }

  /** Notes what is accepted, and tells the host of it, but not of each change. */
  #teller(call: number, progress: CallProgress | undefined): (count: number) => boolean {
    let toldMs = -Infinity
    return (count) => {
      if (progress === undefined) return true
      progress.accepted = count
      const nowMs = this.#nowMs()
      if (nowMs >= toldMs + LOOK_MS) {
        toldMs = nowMs
        this.#post({ kind: 'accepted', call })
      }
      return progress.goesOn()
    }
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
