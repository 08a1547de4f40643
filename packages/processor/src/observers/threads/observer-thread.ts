import assert from 'node:assert/strict'
import {
  HostStoppedError,
  InvalidOptionError,
  type Clock,
  type ObserverContext,
} from '@tidemark/contracts'
import type { AbortCell } from './abort-cell.ts'
import { ObserverThreadEndedError } from './observer-thread-ended-error.ts'
import { portableThrown, thrownFromPortable } from './portable-error.ts'
import {
  portableContext,
  type FromThread,
  type ObserverAct,
  type StartThread,
  type ThreadExit,
  type ThreadHandle,
} from './thread-messages.ts'

interface PendingCall {
  readonly observer: number
  readonly onAccepted: (() => void) | undefined
  readonly taken: PromiseWithResolvers<void>
  readonly settled: PromiseWithResolvers<void>
}

/** A call on its way. */
export interface RunningCall {
  readonly call: number
  /** A close: the thread has begun it. Rejects as `settled` does if it never will. */
  readonly taken: Promise<void>
  /** Rejects with what the observer threw, or ERR_OBSERVER_THREAD_ENDED. */
  readonly settled: Promise<void>
}

export interface ObserverThreadParts {
  readonly start: StartThread
  /** For messages. */
  readonly href: string
  readonly onUnexpectedEnd: (error: ObserverThreadEndedError) => void
}

/** The host's end of one thread with observers: numbers the calls, and settles them. */
export class ObserverThread {
  readonly #parts: ObserverThreadParts
  readonly #handle: ThreadHandle
  readonly #pending = new Map<number, PendingCall>()
  /** Contexts that an observer may still hold: of which it may ask for a checkpoint. */
  readonly #contexts = new Map<
    number,
    { readonly observer: number; readonly context: ObserverContext }
  >()
  readonly #ready = Promise.withResolvers<void>()
  readonly #exited = Promise.withResolvers<void>()
  #lastNumber = 0
  #status: 'loading' | 'running' | 'ending' | 'ended' = 'loading'
  #unusable: InvalidOptionError | undefined
  #terminatedFor: Error | undefined
  #end: ObserverThreadEndedError | undefined

  constructor(parts: ObserverThreadParts) {
    this.#parts = parts
    // Awaited by the one who starts the first thread only.
    this.#ready.promise.catch(() => {})
    this.#handle = parts.start({
      onMessage: (message) => this.#receive(message),
      onExit: (exit) => this.#exit(exit),
    })
  }

  /** The module is loaded. Rejects with ERR_INVALID_OPTION when it is of no use. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** Calls may be sent, also while it is still loading. */
  get isRunning(): boolean {
    return this.#status === 'loading' || this.#status === 'running'
  }

  newNumber(): number {
    this.#lastNumber += 1
    return this.#lastNumber
  }

  /** Sends one call. Rejects, and sends nothing, if it cannot be cloned or the thread has ended. */
  call(
    observer: number,
    {
      act,
      context,
      abortCell,
      onAccepted,
    }: {
      readonly act: ObserverAct
      readonly context: ObserverContext
      readonly abortCell: AbortCell | undefined
      readonly onAccepted?: (() => void) | undefined
    },
  ): RunningCall {
    const call = this.newNumber()
    const pending: PendingCall = {
      observer,
      onAccepted,
      taken: Promise.withResolvers(),
      settled: Promise.withResolvers(),
    }
    // Whoever waits for one of the two does not wait for the other.
    pending.taken.promise.catch(() => {})
    pending.settled.promise.catch(() => {})
    const running = { call, taken: pending.taken.promise, settled: pending.settled.promise }
    try {
      if (this.#end !== undefined) throw this.#end
      const portable = portableContext(context)
      this.#handle.post({ kind: 'call', call, observer, act, context: portable, abortCell })
      this.#pending.set(call, pending)
      this.#contexts.set(call, { observer, context })
    } catch (error) {
      reject(pending, error)
    }
    return running
  }

  /** Tells of an abort; of all calls of the observer when none is given. */
  abort(observer: number, { call, reason }: { call: number | undefined; reason: unknown }): void {
    if (!this.isRunning) return
    this.#handle.post({ kind: 'abort', observer, call, reason: portableThrown(reason) })
  }

  /** Waits no longer for calls of an observer that was closed, except the one given. */
  giveUpCalls(observer: number, except: number): void {
    for (const [call, pending] of this.#pending) {
      if (pending.observer !== observer || call === except) continue
      this.#pending.delete(call)
      reject(pending, new HostStoppedError('the observer was closed while it was called'))
    }
  }

  /** The observer was closed: nothing asks for its contexts any more. */
  forget(observer: number): void {
    for (const [call, held] of this.#contexts) {
      if (held.observer === observer) this.#contexts.delete(call)
    }
  }

  /** Ends the thread whatever it is doing; what is pending fails. */
  terminate(reason: Error): void {
    this.#terminatedFor ??= reason
    this.#handle.terminate()
  }

  /** Ends the thread: gently at first, then whatever it is doing. Resolves when it is gone. */
  async end(clock: Clock, graceMs: number): Promise<void> {
    // One that is loading serves nobody, and hears nothing.
    if (this.#status === 'loading') {
      this.#status = 'ending'
      this.#handle.terminate()
    }
    if (this.#status === 'running') {
      this.#status = 'ending'
      this.#handle.post({ kind: 'end' })
      const over = new AbortController()
      const grace = clock.sleep(graceMs, over.signal).catch(() => {})
      await Promise.race([this.#exited.promise, grace])
      over.abort()
      this.#handle.terminate()
    }
    await this.#exited.promise
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case 'ready':
        if (this.#status === 'loading') this.#status = 'running'
        this.#ready.resolve()
        return
      case 'unusable': {
        const { found, error } = message
        const cause = error === undefined ? undefined : thrownFromPortable(error)
        this.#unusable = new InvalidOptionError(
          `observerModule ${this.#parts.href} ${found}`,
          cause === undefined ? {} : { cause },
        )
        return
      }
      case 'closing':
        this.#pending.get(message.call)?.taken.resolve()
        return
      case 'settled': {
        const pending = this.#pending.get(message.call)
        this.#pending.delete(message.call)
        if (message.error !== undefined) pending?.settled.reject(thrownFromPortable(message.error))
        pending?.settled.resolve()
        return
      }
      case 'accepted':
        this.#pending.get(message.call)?.onAccepted?.()
        return
      case 'checkpoint':
        void this.#checkpoint(message)
        return
      case 'forget':
        this.#contexts.delete(message.call)
        return
    }
  }

  async #checkpoint({ call, checkpoint }: { call: number; checkpoint: number }): Promise<void> {
    let thrown: { readonly error: unknown } | undefined
    try {
      const held = this.#contexts.get(call)
      // The thread itself refuses what is asked after a close.
      assert(held !== undefined, 'the context of a checkpoint is held')
      await held.context.checkpoint()
    } catch (error) {
      thrown = { error }
    }
    if (!this.isRunning) return
    const error = thrown === undefined ? undefined : portableThrown(thrown.error)
    this.#handle.post({ kind: 'checkpointed', checkpoint, error })
  }

  #exit({ exitCode, error }: ThreadExit): void {
    const isExpected = this.#status === 'ending'
    this.#status = 'ended'
    const cause = error ?? this.#unusable ?? this.#terminatedFor
    const why = cause instanceof Error ? cause.message : `exit code ${exitCode}`
    const end = new ObserverThreadEndedError(
      `the thread of the observers ended: ${why}`,
      cause === undefined ? {} : { cause },
    )
    this.#end = end
    this.#ready.reject(
      this.#unusable ??
        new InvalidOptionError(
          `observerModule ${this.#parts.href} ended its thread while it was loaded: ${why}`,
          { cause: end },
        ),
    )
    for (const pending of this.#pending.values()) reject(pending, end)
    this.#pending.clear()
    this.#contexts.clear()
    this.#exited.resolve()
    if (!isExpected) this.#parts.onUnexpectedEnd(end)
  }
}

function reject({ taken, settled }: PendingCall, error: unknown): void {
  settled.reject(error)
  taken.reject(error)
}
