import assert from 'node:assert/strict'
import { type Clock, type Random } from '@tidemark/contracts'
import { checkOptions, option, type OptionRules } from '@tidemark/contracts/internal'
import type { Outcome, ReceiveMode } from '@tidemark/store/messages'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { decodeMessage, encodeChanges } from '../messages/message-codec.ts'
import type { PropertyValue, ReceivedMessage } from '../messages/message.ts'
import { utcDate } from '../platform/utc-date.ts'
import { LockRenewal } from './lock-renewal.ts'
import type { ObservedCalls } from './observed-calls.ts'
import type { LockEnd, Received } from './received.ts'
import type { ReceiverLink } from './receiver-link.ts'
import {
  checkedSequenceNumbers,
  checkHandlers,
  checkMessageCount,
  checkPeekOptions,
  resolveReceiveOptions,
  resolveSubscribeOptions,
  type MessageHandlers,
  type PeekOptions,
  type ReceiveOptions,
  type SubscribeOptions,
} from './receiver-options.ts'
import { MessageSubscription } from './subscribe.ts'

/** Application properties to change. */
export type PropertiesToModify = Readonly<Record<string, PropertyValue>>

/** Why a message is dead-lettered, and properties to change on it. */
export interface DeadLetterOptions {
  /** Why, in short; at most 4,096 characters. @default none */
  readonly deadLetterReason?: string | undefined
  /** What happened; at most 4,096 characters. @default none */
  readonly deadLetterErrorDescription?: string | undefined
  /** Application properties that the dead letter gets, beside or instead of its own. @default none */
  readonly propertiesToModify?: PropertiesToModify | undefined
}

/** A subscription to the messages of a receiver. */
export interface Subscription {
  /** Takes no more messages. Resolves when the handlers that run have ended: do not await it in one of them. */
  close(): Promise<void>
}

type Settled = Pick<ReceivedMessage, 'lockToken'>

/** How a receiver of the public API was opened. */
export interface MessageReceiverParts {
  readonly link: ReceiverLink
  readonly calls: ObservedCalls
  readonly clock: Clock
  readonly random: Random
  readonly maxAutoLockRenewalDurationInMs: number
  readonly onClosed: () => void
}

const DEAD_LETTER_RULES: OptionRules<DeadLetterOptions> = {
  deadLetterReason: option.text,
  deadLetterErrorDescription: option.text,
  propertiesToModify: option.anything,
}

/** Receives from one queue, subscription, or dead-letter queue. */
export class MessageReceiver<Body = unknown> {
  readonly #parts: MessageReceiverParts
  readonly #link: ReceiverLink
  readonly #renewal: LockRenewal
  readonly #subscriptions = new Set<MessageSubscription>()
  #peekFrom = 0
  #closed: Promise<void> | undefined

  /** Made by the broker. */
  constructor(parts: MessageReceiverParts) {
    this.#parts = parts
    this.#link = parts.link
    this.#renewal = new LockRenewal({
      clock: parts.clock,
      renew: (tokens) => this.#link.renew(tokens),
    })
  }

  get entityPath(): string {
    return this.#link.path
  }

  get receiveMode(): ReceiveMode {
    return this.#link.mode
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /**
   * Resolves with at least one message, or with none when the time is up. An aborted call gives back what it has got, and
   * no delivery is counted.
   */
  async receiveMessages(
    maxMessageCount: number,
    options: ReceiveOptions = {},
  ): Promise<ReceivedMessage<Body>[]> {
    checkMessageCount(maxMessageCount)
    const { maxWaitTimeInMs, maxTimeAfterFirstMessageInMs, signal } = resolveReceiveOptions(options)
    return this.#parts.calls.receive('receive', async () => {
      const received = await this.#link.receive({
        max: maxMessageCount,
        maxWaitMs: maxWaitTimeInMs,
        afterFirstMs: maxTimeAfterFirstMessageInMs,
        signal,
      })
      return readableOf(received, (one) => decodeReceived<Body>(one))
    })
  }

  /** By their numbers, under new locks: all of them, or none. */
  async receiveDeferredMessages(
    sequenceNumbers: number | readonly number[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<ReceivedMessage<Body>[]> {
    const numbers = checkedSequenceNumbers(sequenceNumbers)
    options.signal?.throwIfAborted()
    if (numbers.length === 0) return []
    return this.#parts.calls.receive('receive_deferred', async () => {
      const received = await this.#link.receiveDeferred(numbers)
      return received.map((one) => decodeReceived<Body>(one))
    })
  }

  /** Messages in every state, expired ones that nobody has made leave included. Changes nothing. */
  async peekMessages(
    maxMessageCount: number,
    options: PeekOptions = {},
  ): Promise<ReceivedMessage<Body>[]> {
    checkMessageCount(maxMessageCount)
    checkPeekOptions(options)
    options.signal?.throwIfAborted()
    const fromNumber = options.fromSequenceNumber ?? this.#peekFrom
    const messages = await this.#link.peek(fromNumber, maxMessageCount)
    const last = messages.at(-1)
    if (last !== undefined) this.#peekFrom = last.number + 1
    return readableOf(messages, (message) => decodeMessage<Body>(message, undefined))
  }

  /**
   * Calls a handler for each message, until it is closed. Renews the locks of messages whose handlers run. Where nothing can be received, because
   * the entity is missing or the store does not answer, it tells `processError` and tries again, at least every 10 s. Only the end of its receiver,
   * of its store, or of its session's lock is final.
   */
  subscribe(handlers: MessageHandlers<Body>, options: SubscribeOptions = {}): Subscription {
    checkHandlers(handlers)
    const resolved = resolveSubscribeOptions(options)
    this.#link.assertReceives()
    const { calls, clock, random } = this.#parts
    const subscription: MessageSubscription = new MessageSubscription({
      link: this.#link,
      calls,
      clock,
      random,
      ...resolved,
      process: async (received, onFailure) => {
        const message = decodeReceived<Body>(received)
        const onLost = (error: unknown): void => subscription.report('renewLock', error)
        const stopRenewal = this.#renew(message, received, onLost)
        try {
          await calls.process(message, () => handlers.processMessage(message))
        } catch (error) {
          await onFailure(error)
        } finally {
          stopRenewal()
        }
      },
      processError: (args) => handlers.processError(args),
      onEnded: () => this.#subscriptions.delete(subscription),
    })
    this.#subscriptions.add(subscription)
    return subscription
  }

  /** One message at a time, until the receiver is closed. Settles none. Renews the lock until the next one is asked for. */
  [Symbol.asyncIterator](): AsyncGenerator<ReceivedMessage<Body>, void, void> {
    const stop = new AbortController()
    const messages = this.#iterate(stop.signal)
    return {
      next: () => messages.next(),
      // Also while a message is awaited: a generator alone would end only after it.
      return: (value) => {
        stop.abort()
        return messages.return(value)
      },
      throw: (error) => {
        stop.abort()
        return messages.throw(error)
      },
      [Symbol.asyncIterator]() {
        return this
      },
      async [Symbol.asyncDispose]() {
        await this.return()
      },
    }
  }

  /** @throws ERR_MESSAGE_LOCK_LOST also when it was settled already */
  completeMessage(message: Settled): Promise<void> {
    return this.#settle(message, { kind: 'complete' })
  }

  /** Raises the delivery count. The message can be received again at once. */
  async abandonMessage(message: Settled, propertiesToModify?: PropertiesToModify): Promise<void> {
    await this.#settle(message, { kind: 'abandon', changes: encodeChanges(propertiesToModify) })
  }

  /** From now on it is received by its sequence number only. */
  async deferMessage(message: Settled, propertiesToModify?: PropertiesToModify): Promise<void> {
    await this.#settle(message, { kind: 'defer', changes: encodeChanges(propertiesToModify) })
  }

  /** Reason and description have at most 4096 characters each (SET-04). */
  async deadLetterMessage(message: Settled, options: DeadLetterOptions = {}): Promise<void> {
    checkOptions(options, DEAD_LETTER_RULES)
    const { deadLetterReason, deadLetterErrorDescription, propertiesToModify } = options
    await this.#settle(message, {
      kind: 'deadLetter',
      changes: encodeChanges(propertiesToModify),
      reason: deadLetterReason,
      description: deadLetterErrorDescription,
    })
  }

  /** Resolves with the new end of the lock, which `lockedUntilUtc` of the message also shows. */
  async renewMessageLock(message: Settled): Promise<Date> {
    const token = this.#tokenOf(message)
    const [end] = await this.#link.renew([token])
    assert(end !== undefined, 'one answer for one token')
    if (end instanceof Error) throw end
    this.#renewal.extend(token, end)
    showLockEnd(message, end)
    return utcDate(end.untilUtcMs)
  }

  /** Locks of messages stay until they end (SET-16); prefetched messages that nobody saw are given back. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    this.#link.stopReceiving()
    // Handlers that run may still settle.
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()))
    await Promise.all([this.#renewal.close(), this.#link.close()])
    this.#parts.onClosed()
  }

  async #settle(message: Settled, outcome: Outcome): Promise<void> {
    const token = this.#tokenOf(message)
    this.#renewal.remove(token)
    await this.#parts.calls.settle(outcome.kind, () => this.#link.settle(token, outcome))
  }

  #tokenOf({ lockToken }: Settled): string {
    if (lockToken === undefined) {
      throw new MessagingNotAllowedError(
        'the message has no lock: it was peeked, or received in receiveAndDelete',
      )
    }
    return lockToken
  }

  async *#iterate(signal: AbortSignal): AsyncGenerator<ReceivedMessage<Body>, void, void> {
    for (;;) {
      let received: Received | undefined
      const [message] = await this.#parts.calls.receive('receive', async () => {
        received = await this.#receiveNext(signal)
        return received === undefined ? [] : [decodeReceived<Body>(received)]
      })
      if (received === undefined || message === undefined) return
      const stopRenewal = this.#renew(message, received, () => undefined)
      try {
        yield message
      } finally {
        stopRenewal()
      }
    }
  }

  /** Undefined once the iteration or the receiver has ended. */
  async #receiveNext(signal: AbortSignal): Promise<Received | undefined> {
    try {
      const [received] = await this.#link.receive({
        max: 1,
        maxWaitMs: Infinity,
        afterFirstMs: 0,
        signal,
      })
      return received
    } catch (error) {
      if (signal.aborted || this.#link.closing.aborted) return undefined
      throw error
    }
  }

  /** Renews the lock of a message. Returns the end of it. */
  #renew(
    message: ReceivedMessage,
    { lock }: Received,
    onLost: (error: unknown) => void,
  ): () => void {
    const renewForMs = this.#parts.maxAutoLockRenewalDurationInMs
    if (lock === undefined || this.#link.hasSession || renewForMs === 0) return () => undefined
    this.#renewal.add({
      token: lock.token,
      end: lock,
      renewUntilMs: this.#parts.clock.monotonicMs() + renewForMs,
      onRenewed: (end) => showLockEnd(message, end),
      onLost,
    })
    return () => this.#renewal.remove(lock.token)
  }
}

/**
 * A damaged message takes no others along. If it was locked it comes again when the lock ends, and in the end it is dead-lettered.
 *
 * @throws ERR_STORE_DAMAGED when there is no other
 */
function readableOf<Item, Result>(
  items: readonly Item[],
  decode: (item: Item) => Result,
): Result[] {
  const results = items.flatMap((item) => {
    try {
      return [decode(item)]
    } catch {
      return []
    }
  })
  return results.length > 0 ? results : items.map(decode)
}

function decodeReceived<Body>({ message, lock }: Received): ReceivedMessage<Body> {
  return decodeMessage<Body>(message, lock)
}

function showLockEnd(message: Settled, end: LockEnd): void {
  Reflect.set(message, 'lockedUntilUtc', utcDate(end.untilUtcMs))
}
