import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionOf,
  optionRule,
  optionWhole,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { ReceivedMessage } from '../messages/message.ts'

/**
 * A receiver becomes a listener with its first call that receives or subscribes, and stays one until it is closed, as the
 * official client attaches its link then. Peeking, and settling, never make it one (EXP-04).
 */
export interface ReceiverOptions {
  /**
   * `peekLock`: a message is locked until it is settled. `receiveAndDelete`: it is gone when it is received.
   * @default 'peekLock'
   */
  readonly receiveMode?: 'peekLock' | 'receiveAndDelete' | undefined
  /** `deadLetter`: of the entity's dead-letter queue. @default the entity itself */
  readonly subQueueType?: 'deadLetter' | undefined
  /**
   * Messages that are received ahead of the calls that want them. None in `receiveAndDelete`: those that nobody had seen
   * would be lost when the receiver closes.
   * @unit messages @range 0 to 10_000 @default 0
   */
  readonly prefetchCount?: number | undefined
  /**
   * Locks are renewed automatically for so long, in `subscribe` and of sessions; 0: never. Milliseconds.
   * @range any number, 0 or more @default 300_000
   */
  readonly maxAutoLockRenewalDurationInMs?: number | undefined
}

export interface AcceptSessionOptions extends ReceiverOptions {
  /** How long `acceptNextSession` waits. Milliseconds. @range any number, 0 or more @default 60_000 */
  readonly maxWaitTimeInMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ReceiveOptions {
  /** How long to wait for the first message. 0: returns what is there. @range any number, 0 or more @default 60_000 */
  readonly maxWaitTimeInMs?: number | undefined
  /**
   * How long to wait for more after the first one.
   * @range any number, 0 or more @default 1000, or the wait itself if that is less
   */
  readonly maxTimeAfterFirstMessageInMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface PeekOptions {
  /**
   * The sequence number where to begin.
   * @unit number @range 0 or more @default after the last message that this receiver peeked
   */
  readonly fromSequenceNumber?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface SubscribeOptions {
  /** Complete a message when its handler resolves, abandon it when it rejects. @default true */
  readonly autoCompleteMessages?: boolean | undefined
  /** Handlers that run at the same time. @range 1 to 2_000 @default 1 */
  readonly maxConcurrentCalls?: number | undefined
  /**
   * How long a message is kept, under its lock and in the place of its call, after its handler has rejected, before it is abandoned and comes again:
   * half of it at random, and twice as long with each delivery. So a service that is away for a second does not use up `maxDeliveryCount`
   * (10) deliveries. Milliseconds; 0: none. @range any number, 0 or more @default 250
   */
  readonly retryDelayInMs?: number | undefined
  /** The longest of these. Milliseconds. @range any number, 0 or more @default 10_000 */
  readonly maxRetryDelayInMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface MessageHandlers<Body = unknown> {
  processMessage(message: ReceivedMessage<Body>): Promise<void>
  /** Of the handler, of its settlement, or of receiving. */
  processError(args: {
    readonly error: unknown
    readonly errorSource: 'processMessage' | 'settle' | 'renewLock' | 'receive'
    readonly entityPath: string
  }): Promise<void>
}

/** The most messages of one receive or peek, and the most that are received ahead. */
const MAX_MESSAGES = 10_000
const MAX_CONCURRENT_CALLS = 2_000

const duration = optionRule(
  'milliseconds, 0 or more',
  (value) => typeof value === 'number' && value >= 0,
)
const sequenceNumber = optionWhole(0, Number.MAX_SAFE_INTEGER)

const RECEIVER_RULES: OptionRules<ReceiverOptions> = {
  receiveMode: optionOf('peekLock', 'receiveAndDelete'),
  subQueueType: optionOf('deadLetter'),
  prefetchCount: optionWhole(0, MAX_MESSAGES),
  maxAutoLockRenewalDurationInMs: duration,
}
const ACCEPT_RULES: OptionRules<AcceptSessionOptions> = {
  ...RECEIVER_RULES,
  maxWaitTimeInMs: duration,
  signal: option.signal,
}
const RECEIVE_RULES: OptionRules<ReceiveOptions> = {
  maxWaitTimeInMs: duration,
  maxTimeAfterFirstMessageInMs: duration,
  signal: option.signal,
}
const PEEK_RULES: OptionRules<PeekOptions> = {
  fromSequenceNumber: sequenceNumber,
  signal: option.signal,
}
const SUBSCRIBE_RULES: OptionRules<SubscribeOptions> = {
  autoCompleteMessages: option.flag,
  maxConcurrentCalls: optionWhole(1, MAX_CONCURRENT_CALLS),
  retryDelayInMs: duration,
  maxRetryDelayInMs: duration,
  signal: option.signal,
}
const HANDLER_RULES: OptionRules<MessageHandlers> = {
  processMessage: requiredOption(option.function),
  processError: requiredOption(option.function),
}

type Resolved<Options> = {
  readonly [Key in keyof Options]-?: Key extends 'signal' ? Options[Key] : NonNullable<Options[Key]>
}

export type ResolvedReceiverOptions = Resolved<Omit<ReceiverOptions, 'subQueueType'>>

export function resolveReceiverOptions(options: ReceiverOptions): ResolvedReceiverOptions {
  checkOptions(options, RECEIVER_RULES)
  const {
    receiveMode = 'peekLock',
    prefetchCount = 0,
    maxAutoLockRenewalDurationInMs = 300_000,
  } = options
  return {
    receiveMode,
    prefetchCount: receiveMode === 'receiveAndDelete' ? 0 : prefetchCount,
    maxAutoLockRenewalDurationInMs,
  }
}

export type ResolvedAcceptOptions = Resolved<Omit<AcceptSessionOptions, 'subQueueType'>>

export function resolveAcceptOptions(options: AcceptSessionOptions): ResolvedAcceptOptions {
  checkOptions(options, ACCEPT_RULES)
  const { maxWaitTimeInMs = 60_000, signal, ...receiver } = options
  if (receiver.subQueueType !== undefined) {
    throw new InvalidOptionError('subQueueType: a dead-letter queue has no sessions')
  }
  return { ...resolveReceiverOptions(receiver), maxWaitTimeInMs, signal }
}

export function resolveReceiveOptions(options: ReceiveOptions): Resolved<ReceiveOptions> {
  checkOptions(options, RECEIVE_RULES)
  const { maxWaitTimeInMs = 60_000, maxTimeAfterFirstMessageInMs = 1000, signal } = options
  return {
    maxWaitTimeInMs,
    maxTimeAfterFirstMessageInMs: Math.min(maxTimeAfterFirstMessageInMs, maxWaitTimeInMs),
    signal,
  }
}

export function resolveSubscribeOptions(options: SubscribeOptions): Resolved<SubscribeOptions> {
  checkOptions(options, SUBSCRIBE_RULES)
  const { autoCompleteMessages = true, maxConcurrentCalls = 1, signal } = options
  const { retryDelayInMs = 250, maxRetryDelayInMs = 10_000 } = options
  return {
    autoCompleteMessages,
    maxConcurrentCalls,
    retryDelayInMs,
    maxRetryDelayInMs,
    signal,
  }
}

export function checkPeekOptions(options: PeekOptions): void {
  checkOptions(options, PEEK_RULES)
}

export function checkHandlers<Body>(handlers: MessageHandlers<Body>): void {
  for (const [name, { accepts }] of Object.entries(HANDLER_RULES)) {
    // Handlers may be methods of a class: it may have others.
    if (!accepts(Reflect.get(handlers, name))) {
      throw new InvalidOptionError(`handlers.${name} must be a function`)
    }
  }
}

export function checkMessageCount(maxMessageCount: number): void {
  const { accepts, expected } = optionWhole(1, MAX_MESSAGES)
  if (!accepts(maxMessageCount)) {
    throw new InvalidOptionError(`maxMessageCount must be ${expected}, got ${maxMessageCount}`)
  }
}

/** One or more, as a list of checked numbers. */
export function checkedSequenceNumbers(numbers: number | readonly number[]): readonly number[] {
  const list = typeof numbers === 'number' ? [numbers] : [...numbers]
  for (const number of list) {
    if (!sequenceNumber.accepts(number)) {
      throw new InvalidOptionError(
        `sequenceNumbers must be ${sequenceNumber.expected}, got ${number}`,
      )
    }
  }
  if (list.length > MAX_MESSAGES) {
    throw new InvalidOptionError(
      `sequenceNumbers must be at most ${MAX_MESSAGES}, got ${list.length}`,
    )
  }
  return [...new Set(list)]
}
