import { errorCode } from '@tidemark/contracts'
import type { SessionHold } from '@tidemark/store/messages'
import { isRetryable } from '../errors/is-retryable.ts'
import { LinkClosedError } from '../errors/link-closed-error.ts'
import { SessionLockLostError } from '../errors/session-lock-errors.ts'
import { MessageSizeExceededError, QuotaExceededError } from '../errors/messaging-limit-errors.ts'
import { Bell } from './bell.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import type { Attachment, Listenings } from './listenings.ts'
import { receiveQueue, type ReceiveQueue } from './receive-queue.ts'
import { lockEnd, type LockEnd } from './received.ts'
import type { GrantedSession } from './session-queue.ts'

/** After an error of the store. */
const RETRY_MS = 1_000

type Status =
  | { readonly kind: 'held' }
  /** Everything rejects with this from then on. */
  | { readonly kind: 'over'; readonly error: unknown }

/**
 * A session that this broker holds. The hold is renewed for `renewForMs`, each time when half of the lock's time is left.
 * When the lock has ended, or the session was released, everything rejects, also receives that wait.
 */
export class HeldSession {
  readonly hold: SessionHold
  readonly queue: ReceiveQueue
  readonly #context: BrokerContext
  readonly #listenings: Listenings
  readonly #commands: EntityCommands
  readonly #renewUntilMs: number
  readonly #bell: Bell
  readonly #stop = new AbortController()
  #end: LockEnd
  #renewAtMs = 0
  #status: Status = { kind: 'held' }
  #attachment: Attachment | undefined
  #run: Promise<void> | undefined

  constructor(
    context: BrokerContext,
    listenings: Listenings,
    {
      commands,
      granted: { session, lock, end },
      renewForMs,
    }: {
      readonly commands: EntityCommands
      readonly granted: GrantedSession
      readonly renewForMs: number
    },
  ) {
    this.#context = context
    this.#listenings = listenings
    this.#commands = commands
    this.hold = { session, lock }
    this.#bell = new Bell(context.clock)
    this.#renewUntilMs = context.clock.monotonicMs() + renewForMs
    this.#end = end
    this.#plan(end)
    this.queue = receiveQueue(context, commands, {
      hold: this.hold,
      // The session's lock is that of its messages, and ends in time by itself.
      onLocked: () => undefined,
      onEmpty: () => this.#attachment?.expectMessages(),
    })
  }

  get sessionId(): string {
    return this.hold.session
  }

  get lockedUntilUtcMs(): number {
    return this.#end.untilUtcMs
  }

  get isHeld(): boolean {
    return this.#status.kind === 'held' && this.#end.endsAtMs > this.#context.clock.monotonicMs()
  }

  /** Aborts when the hold has ended: `assertHeld` says by what. */
  get ended(): AbortSignal {
    return this.#stop.signal
  }

  /** @throws what ended the hold */
  assertHeld(): void {
    if (this.#status.kind === 'over') throw this.#status.error
  }

  /** Listens for the session, and renews its lock. */
  async start(): Promise<void> {
    const record = await this.#commands.record()
    const { queue, sessionId: session } = this
    this.#attachment = await this.#listenings.attach(record, {
      kind: 'session',
      session,
      queue,
    })
    this.#run = this.#keep(this.#stop.signal)
  }

  async renew(): Promise<LockEnd> {
    const { hold } = this
    const { answer, time } = await this.whileHeld(() =>
      this.#commands.perform('renewSession', { hold }),
    )
    this.#plan(lockEnd(answer.lockedUntilMs, time, this.#context.clock))
    this.#bell.ring()
    return this.#end
  }

  async readState(): Promise<Uint8Array | undefined> {
    const { hold } = this
    const { answer } = await this.whileHeld(() =>
      this.#commands.perform('readSessionState', { hold }),
    )
    return answer.state
  }

  /** Undefined clears it, and so do no bytes. */
  async setState(bytes: Uint8Array | undefined): Promise<void> {
    const { hold } = this
    const state = storedState(bytes)
    const { answer } = await this.whileHeld(() =>
      this.#commands.perform('setSessionState', { hold, state }),
    )
    if (answer.kind === 'stored') return
    const { path: entityPath, settings } = await this.#commands.record()
    throw answer.kind === 'full'
      ? new QuotaExceededError({ entityPath, maxBytes: settings.maxBytes })
      : new MessageSizeExceededError({
          entityPath,
          bytes: state?.byteLength,
          maxBytes: settings.maxMessageBytes,
        })
  }

  /** Performs something that needs the hold, and learns from it that the hold has ended. */
  async whileHeld<Result>(perform: () => Promise<Result>): Promise<Result> {
    this.assertHeld()
    try {
      return await perform()
    } catch (error) {
      if (errorCode(error) === 'ERR_SESSION_LOCK_LOST') this.lose()
      this.assertHeld()
      throw error
    }
  }

  /** Its messages are free at once, and no delivery is counted (SES-11). */
  async release(link: string): Promise<void> {
    const wasHeld = this.#status.kind === 'held'
    this.lose(new LinkClosedError(link))
    try {
      if (wasHeld) await this.#commands.perform('releaseSession', { hold: this.hold })
    } catch (error) {
      // The lock has ended, or ends by itself.
      if (errorCode(error) === undefined) throw error
    } finally {
      await Promise.all([this.#run, this.queue.idle(), this.#attachment?.detach()])
    }
  }

  /** The store says that the lock is gone. */
  lose(error: unknown = new SessionLockLostError(this.sessionId)): void {
    if (this.#status.kind === 'over') return
    this.#status = { kind: 'over', error }
    this.#stop.abort()
    this.queue.fail(error)
  }

  /** Renews the lock as long as the user wants, and ends the hold when the lock ends. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    while (!signal.aborted) {
      const nowMs = clock.monotonicMs()
      if (this.#end.endsAtMs <= nowMs) {
        this.lose()
      } else if (this.#renewAtMs <= nowMs) {
        await this.#renewOnce()
      } else {
        await this.#bell.wait(Math.min(this.#renewAtMs, this.#end.endsAtMs) - nowMs, signal)
      }
    }
  }

  async #renewOnce(): Promise<void> {
    try {
      await this.renew()
    } catch (error) {
      if (isRetryable(error)) this.#renewAtMs = this.#context.clock.monotonicMs() + RETRY_MS
      else this.lose(error)
    }
  }

  #plan(end: LockEnd): void {
    const nowMs = this.#context.clock.monotonicMs()
    const renewAtMs = nowMs + (end.endsAtMs - nowMs) / 2
    this.#end = end
    this.#renewAtMs = renewAtMs <= this.#renewUntilMs ? renewAtMs : Infinity
  }
}

/** No bytes are no state. */
export function storedState(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes?.byteLength === 0 ? undefined : bytes
}
