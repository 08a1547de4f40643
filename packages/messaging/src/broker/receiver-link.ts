import type { Disposition, Outcome, ReceiveMode, StoredMessage } from '@tidemark/store/messages'
import { LOCK_DIGITS } from '@tidemark/store/messages'
import { isRetryable } from '../errors/is-retryable.ts'
import { LinkClosedError } from '../errors/link-closed-error.ts'
import { MessageSizeExceededError } from '../errors/messaging-limit-errors.ts'
import { MessageNotFoundError } from '../errors/message-not-found-error.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { assertReceivable } from './assert-receivable.ts'
import type { BrokerContext } from './broker-context.ts'
import { collectMessages } from './collect-messages.ts'
import type { EntityCommands } from './entity-commands.ts'
import type { HeldSession } from './held-session.ts'
import type { Attachment, Listenings } from './listenings.ts'
import { Prefetch } from './prefetch.ts'
import type { Intake, ReceiveQueue } from './receive-queue.ts'
import { assertReasons, settleRefusal } from './settle-refusals.ts'
import { lockEnd, receivedMessage, type LockEnd, type Received } from './received.ts'

export interface ReceiverLinkParts {
  readonly context: BrokerContext
  readonly listenings: Listenings
  readonly path: string
  readonly mode: ReceiveMode
  readonly prefetchCount: number
  /** Undefined: of an entity without sessions. */
  readonly held: HeldSession | undefined
  readonly onClosed: (() => void) | undefined
}

export interface LinkReceiveOptions {
  /** Maximum number of messages. @unit messages @range 1 or more */
  readonly max: number
  /** How long to wait for the first message. @range any number, 0 or more */
  readonly maxWaitMs: number
  /** How long to wait for more after the first one. @range any number, 0 or more */
  readonly afterFirstMs: number
  /** Ends the wait: what has come by then is received. @default none */
  readonly waitEnds?: AbortSignal | undefined
  /** Rejects with its reason: what has come is given back. */
  readonly signal: AbortSignal | undefined
}

export interface DeferredOptions {
  /** Whether messages are locked, or gone when they are received. @default the link's */
  readonly mode?: ReceiveMode | undefined
  /** Bytes of all of them together; one alone may have more. @range 1 or more @default 64 MiB */
  readonly maxBytes?: number | undefined
}

interface Attached {
  readonly attachment: Attachment | undefined
  readonly intake: Intake
  readonly prefetch: Prefetch | undefined
}

/** The most bytes of one answer to a peek, unless its first message alone is larger. */
const MAX_PEEK_BYTES = 8 * 1024 * 1024
const MAX_DEFERRED_BYTES = 64 * 1024 * 1024

/**
 * A receiver's link to its entity: messages as they are stored, and what is done with them. It listens from its first
 * receive on. Whatever a client sees of messages is made of these by its front.
 */
export class ReceiverLink {
  readonly #parts: ReceiverLinkParts
  readonly #commands: EntityCommands
  readonly #closing = new AbortController()
  /** Of messages that handlers work on. */
  readonly #unsettled = new Set<string>()
  readonly #returns = new Set<Promise<void>>()
  #attached: Promise<Attached> | undefined
  #current: Attached | undefined
  /** Taken in receive-and-delete by a receive that was aborted. */
  #kept: Received[] = []
  #closed: Promise<void> | undefined
  #onEnd: ((error: unknown) => void) | undefined

  constructor(parts: ReceiverLinkParts) {
    this.#parts = parts
    this.#commands = parts.context.commands(parts.path)
  }

  get path(): string {
    return this.#parts.path
  }

  get mode(): ReceiveMode {
    return this.#parts.mode
  }

  get hasSession(): boolean {
    return this.#parts.held !== undefined
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Aborts when it receives no more. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** @throws ERR_LINK_CLOSED, ERR_SESSION_LOCK_LOST */
  assertReceives(): void {
    this.closing.throwIfAborted()
    this.#parts.held?.assertHeld()
  }

  /** A handler works on it; see `isUnsettled`. */
  expectSettlement(token: string): void {
    this.#unsettled.add(token)
  }

  /** Whether nobody has tried to settle it since it was expected. It is no longer expected. */
  isUnsettled(token: string): boolean {
    return this.#unsettled.delete(token)
  }

  /** At least one message; none when the time is up. Rejects with the reason of the signal. */
  async receive({
    max,
    maxWaitMs,
    afterFirstMs,
    waitEnds,
    signal,
  }: LinkReceiveOptions): Promise<readonly Received[]> {
    this.assertReceives()
    signal?.throwIfAborted()
    const { intake } = await this.#attach()
    const kept = this.#kept.splice(0, max)
    if (kept.length > 0) return kept
    return collectMessages(intake, {
      mode: this.#parts.mode,
      max,
      maxWaitMs,
      afterFirstMs,
      waitEnds,
      clock: this.#parts.context.clock,
      signals: signal === undefined ? [this.closing] : [this.closing, signal],
      giveBack: (received) => this.giveBack(received),
    })
  }

  /**
   * Begins to listen before the first receive. Rejects when its entity cannot be received from. `onEnd`: the entity or the store
   * has gone since, also if nobody waits for messages.
   */
  async listen(onEnd?: (error: unknown) => void): Promise<void> {
    this.assertReceives()
    this.#onEnd = onEnd
    await this.#attach()
  }

  /** All of them, or none. Rejects with ERR_MESSAGE_NOT_FOUND, ERR_MESSAGE_SIZE_EXCEEDED. */
  async receiveDeferred(
    numbers: readonly number[],
    { mode = this.mode, maxBytes = MAX_DEFERRED_BYTES }: DeferredOptions = {},
  ): Promise<readonly Received[]> {
    this.assertReceives()
    const { context, held, path } = this.#parts
    const { answer, time } = await this.#whileHeld(() =>
      this.#commands.perform('receiveDeferred', {
        hold: held?.hold,
        mode,
        lock: context.random.hex(LOCK_DIGITS / 2),
        numbers,
        maxBytes,
      }),
    )
    if (answer.kind === 'notFound') {
      throw new MessageNotFoundError({ entityPath: path, sequenceNumber: answer.number })
    }
    if (answer.kind === 'tooMany') {
      throw new MessageSizeExceededError({ entityPath: path, bytes: answer.bytes, maxBytes })
    }
    return answer.deliveries.map((delivery) => receivedMessage(delivery, time, context.clock))
  }

  /** Does not make it a listener. */
  async peek(fromNumber: number, max: number): Promise<readonly StoredMessage[]> {
    this.assertReceives()
    const session = this.#parts.held?.sessionId
    const request = { session, fromNumber, max, maxBytes: MAX_PEEK_BYTES }
    const { answer } = await this.#commands.perform('peek', request)
    return answer.messages
  }

  /**
   * Removes messages that nobody holds, the oldest first, and does not make it a listener. Resolves with their number.
   * `beforeMs`: only those that were enqueued before it; undefined: before now.
   */
  async discard(max: number, beforeMs: number | undefined): Promise<number> {
    this.assertReceives()
    const { context, held } = this.#parts
    const before = beforeMs ?? (await context.engine()).nowMs()
    let count = 0
    while (count < max) {
      const piece = { hold: held?.hold, max: max - count, beforeMs: before }
      const { answer } = await this.#whileHeld(() => this.#commands.perform('discard', piece))
      if (answer.count === 0) break
      count += answer.count
    }
    return count
  }

  /** Rejects with ERR_INVALID_OPTION when the reason of a dead letter is too long. */
  async settle(token: string, outcome: Outcome): Promise<void> {
    this.#assertOpen()
    assertReasons(outcome)
    const wasExpected = this.#unsettled.delete(token)
    try {
      await this.#dispose({ token, outcome })
    } catch (error) {
      if (wasExpected && isRetryable(error)) this.#unsettled.add(token)
      throw error
    }
  }

  /** In the order of the tokens: the new end, or why there is none. */
  async renew(tokens: readonly string[]): Promise<readonly (LockEnd | Error)[]> {
    this.#assertOpen()
    const { context, held } = this.#parts
    if (held !== undefined) {
      throw new MessagingNotAllowedError(
        `messages of the session '${held.sessionId}' have no locks of their own: renew the session's lock`,
      )
    }
    const { lockedUntilMs, time } = await this.#commands.renew(tokens)
    const record = await this.#commands.record()
    return lockedUntilMs.map((until) =>
      typeof until === 'number'
        ? lockEnd(until, time, context.clock)
        : settleRefusal(record, until),
    )
  }

  /** Back to the entity, as if they had never been received. */
  giveBack(received: readonly Received[]): void {
    if (received.length === 0) return
    const returned = this.#return(received).finally(() => this.#returns.delete(returned))
    this.#returns.add(returned)
  }

  /** Receives that wait reject. Settling is possible until it is closed. */
  stopReceiving(): void {
    if (!this.closing.aborted) this.#closing.abort(new LinkClosedError(this.#name))
  }

  /** Idempotent. Resolves when nothing of it runs any more. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  get #name(): string {
    return `the receiver of '${this.#parts.path}'`
  }

  #assertOpen(): void {
    if (this.isClosed) throw new LinkClosedError(this.#name)
    this.#parts.held?.assertHeld()
  }

  async #close(): Promise<void> {
    this.stopReceiving()
    const attached = await this.#attached?.catch(() => undefined)
    await attached?.prefetch?.close()
    await Promise.all(this.#returns)
    await attached?.attachment?.detach()
    await this.#parts.held?.release(this.#name)
    this.#parts.onClosed?.()
  }

  /** Its place at the entity that has its path now. */
  async #attach(): Promise<Attached> {
    const before = this.#current
    if (before?.attachment !== undefined) {
      const { number } = await this.#commands.record()
      const isThere = before.attachment.record.number === number && !before.attachment.hasEnded
      if (!isThere && this.#current === before) {
        this.#attached = undefined
        this.#current = undefined
        await Promise.all([before.attachment.detach(), before.prefetch?.close()])
      }
    }
    this.#attached ??= this.#attachNow()
    return this.#attached
  }

  async #attachNow(): Promise<Attached> {
    try {
      const attachment = this.#parts.held === undefined ? await this.#listen() : undefined
      const source = attachment?.messages ?? this.#parts.held!.queue
      const prefetch = this.#prefetchFrom(source)
      this.#current = { attachment, intake: prefetch ?? source, prefetch }
      return this.#current
    } catch (error) {
      this.#attached = undefined
      throw error
    }
  }

  async #listen(): Promise<Attachment> {
    const record = await this.#commands.record()
    const { path, kind, settings } = record
    assertReceivable(record)
    if (kind !== 'deadLetter' && settings.requiresSession) {
      throw new MessagingNotAllowedError(
        `It is not possible for an entity that requires sessions to create a non-sessionful message receiver. Accept a session of '${path}' instead.`,
      )
    }
    return this.#parts.listenings.attach(record, { kind: 'receiver', onEnd: this.#onEnd })
  }

  #prefetchFrom(source: ReceiveQueue): Prefetch | undefined {
    const { context, mode, prefetchCount, held } = this.#parts
    if (prefetchCount === 0) return undefined
    const { clock } = context
    const prefetch = new Prefetch({
      clock,
      source,
      mode,
      count: prefetchCount,
      isStillLocked: ({ lock }) =>
        lock === undefined || (held?.isHeld ?? lock.endsAtMs > clock.monotonicMs()),
      giveBack: (received) => this.giveBack(received),
    })
    prefetch.start()
    return prefetch
  }

  async #dispose(disposition: Disposition): Promise<void> {
    const answer = await this.#whileHeld(() => this.#commands.settle(disposition))
    if (answer === 'settled') return
    if (answer === 'sessionLockLost') this.#parts.held?.lose()
    throw settleRefusal(await this.#commands.record(), answer, this.#parts.held?.sessionId)
  }

  #whileHeld<Result>(perform: () => Promise<Result>): Promise<Result> {
    const { held } = this.#parts
    return held === undefined ? perform() : held.whileHeld(perform)
  }

  async #return(received: readonly Received[]): Promise<void> {
    // In receive-and-delete they are gone from the store: the next receive gets them.
    if (this.#parts.mode === 'receiveAndDelete') {
      this.#kept.push(...received)
      return
    }
    const tokens = received.flatMap(({ lock }) => (lock === undefined ? [] : [lock.token]))
    const outcome = { kind: 'release' } as const
    // What cannot be released comes back when its lock ends.
    await Promise.allSettled(tokens.map((token) => this.#commands.settle({ token, outcome })))
  }
}
