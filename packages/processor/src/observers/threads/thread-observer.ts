import {
  HostStoppedError,
  errorCode,
  type Change,
  type Clock,
  type CloseReason,
  type DocumentBody,
  type ObserverContext,
  type Resynchronization,
} from '@tidemark/contracts'
import { findDamage, portableChanges } from '@tidemark/contracts/internal'
import type { BatchObserver } from '../../feed-processing/batch-observer.ts'
import { CallProgress, LOOK_MS } from './call-progress.ts'
import { ObserverThreadEndedError } from './observer-thread-ended-error.ts'
import { RemoteObserver } from './remote-observer.ts'
import type { ObserverAct } from './thread-messages.ts'
import type { SlotTenant, ThreadSlot } from './thread-slot.ts'

export interface ThreadObserverParts {
  /** Where there is most room. */
  readonly place: () => ThreadSlot
  readonly clock: Clock
  /** How long a thread may be blocked by a call of an observer that is being closed. */
  readonly graceMs: number
}

/** What was opened, and may have to be opened again. */
interface Opened {
  readonly slot: ThreadSlot
  readonly context: ObserverContext
  remote: RemoteObserver
}

/**
 * What a pump sees of an observer in a thread. When the thread dies its calls fail, and the next one first opens
 * another observer in another thread; the one that died with its thread was never closed.
 */
export class ThreadObserver<T extends DocumentBody> implements BatchObserver<T>, SlotTenant {
  readonly #parts: ThreadObserverParts
  #opened: Opened | undefined
  #reopening: Promise<void> | undefined
  #isClosed = false
  #isOneByOne = false

  constructor(parts: ThreadObserverParts) {
    this.#parts = parts
  }

  get leaseId(): string {
    return this.#opened?.context.leaseId ?? ''
  }

  /** Of the last call. */
  get isOneByOne(): boolean {
    return this.#isOneByOne
  }

  /** Undefined before `open` and after `close`. */
  get slot(): ThreadSlot | undefined {
    return this.#isClosed ? undefined : this.#opened?.slot
  }

  async open(context: ObserverContext): Promise<void> {
    const slot = this.#parts.place()
    const remote = new RemoteObserver(slot.thread(), context.signal)
    this.#opened = { slot, context, remote }
    slot.enter(this)
    await remote.call({ kind: 'open' }, context)
  }

  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    const portable = portableChanges(changes) ?? changes
    const progress = new CallProgress()
    const { cell } = progress
    let refusal: { readonly error: unknown } | undefined
    const look = (): void => {
      const last = changes[progress.accepted - 1]
      try {
        if (last !== undefined && !context.accepted(last)) progress.stop()
      } catch (error) {
        refusal = { error }
        progress.stop()
      }
    }
    const over = new AbortController()
    let isFollowed = false
    const follow = async (): Promise<void> => {
      look()
      if (isFollowed) return
      isFollowed = true
      await this.#follow(progress, look, over.signal)
      isFollowed = false
    }
    // Before the call is given up.
    context.signal.addEventListener('abort', look, { signal: over.signal })
    try {
      const act = { kind: 'processChanges', changes: portable, progress: cell } as const
      await this.#call(act, context, () => void follow())
      // One that was not told to stop, or not in time, has accepted all by its return.
      if (!progress.isHeeded) progress.accepted = changes.length
      if (progress.isStopped) look()
    } catch (error) {
      look()
      // Found in the thread: here it is still to be seen that it is the feed's.
      if (errorCode(error) === 'ERR_STORE_DAMAGED') findDamage(changes)
      throw error
    } finally {
      over.abort()
      this.#isOneByOne = progress.isOneByOne
    }
    if (refusal !== undefined) throw refusal.error
  }

  /** Looks as long as there is news: the thread tells of the first of it, and of the rest not at once. */
  async #follow(progress: CallProgress, look: () => void, over: AbortSignal): Promise<void> {
    try {
      for (let known = 0; known < progress.accepted;) {
        known = progress.accepted
        await this.#parts.clock.sleep(LOOK_MS, over)
        look()
      }
    } catch {
      // The call is over.
    }
  }

  async resynchronize(context: ObserverContext, resync: Resynchronization): Promise<void> {
    const { range, lsn, horizon, untilLsn } = resync
    const { minInclusive, maxExclusive } = range
    const plain = { range: { minInclusive, maxExclusive }, lsn, horizon, untilLsn }
    await this.#call({ kind: 'resynchronize', resync: plain }, context)
  }

  async close(context: ObserverContext, reason: CloseReason): Promise<void> {
    this.#isClosed = true
    const opened = this.#opened
    if (opened === undefined) return
    try {
      await this.#close(opened.remote, context, reason)
    } finally {
      opened.slot.leave(this)
    }
  }

  async #call(act: ObserverAct, context: ObserverContext, onAccepted?: () => void): Promise<void> {
    const opened = this.#opened
    if (opened === undefined || this.#isClosed) {
      throw new HostStoppedError('the observer is not open')
    }
    const { slot } = opened
    slot.calls.callBegan()
    try {
      if (this.#reopening !== undefined || !opened.remote.isAlive) await this.#reopen(opened)
      await opened.remote.call(act, context, onAccepted)
      slot.succeeded(this)
    } catch (error) {
      if (error instanceof ObserverThreadEndedError) slot.diedUnder(this)
      throw error
    } finally {
      slot.calls.callEnded()
    }
  }

  /** Once, however many calls ask for it. */
  async #reopen(opened: Opened): Promise<void> {
    this.#reopening ??= this.#openAgain(opened)
    try {
      await this.#reopening
    } finally {
      this.#reopening = undefined
    }
  }

  async #openAgain(opened: Opened): Promise<void> {
    const { slot, context } = opened
    opened.remote.abandon()
    const remote = new RemoteObserver(slot.thread(), context.signal)
    // At once: a close that comes meanwhile is for this one.
    opened.remote = remote
    try {
      await remote.call({ kind: 'open' }, context)
    } catch (error) {
      if (remote.isAlive) await this.#close(remote, context, 'observerError').catch(() => {})
      throw error
    }
  }

  #close(remote: RemoteObserver, context: ObserverContext, reason: CloseReason): Promise<void> {
    const { clock, graceMs } = this.#parts
    return remote.close(context, { reason, clock, graceMs })
  }
}
