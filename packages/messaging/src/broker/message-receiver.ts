import type { PropertyValue, ReceivedMessage } from '../messages/message.ts'
import type {
  MessageHandlers,
  PeekOptions,
  ReceiveOptions,
  SubscribeOptions,
} from './receiver-options.ts'

/** Application properties to change. */
export type PropertiesToModify = Readonly<Record<string, PropertyValue>>

export interface DeadLetterOptions {
  readonly deadLetterReason?: string | undefined
  readonly deadLetterErrorDescription?: string | undefined
  readonly propertiesToModify?: PropertiesToModify | undefined
}

/** A subscription to the messages of a receiver. */
export interface Subscription {
  /** Takes no more messages. Resolves when the handlers that run have ended. */
  close(): Promise<void>
}

type Settled = Pick<ReceivedMessage, 'lockToken'>

export declare class MessageReceiver<Body = unknown> {
  readonly entityPath: string
  readonly receiveMode: 'peekLock' | 'receiveAndDelete'
  readonly isClosed: boolean

  receiveMessages(
    maxMessageCount: number,
    options?: ReceiveOptions,
  ): Promise<ReceivedMessage<Body>[]>
  receiveDeferredMessages(
    sequenceNumbers: number | readonly number[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<ReceivedMessage<Body>[]>
  peekMessages(maxMessageCount: number, options?: PeekOptions): Promise<ReceivedMessage<Body>[]>
  subscribe(handlers: MessageHandlers<Body>, options?: SubscribeOptions): Subscription
  [Symbol.asyncIterator](): AsyncGenerator<ReceivedMessage<Body>, void, void>

  completeMessage(message: Settled): Promise<void>
  abandonMessage(message: Settled, propertiesToModify?: PropertiesToModify): Promise<void>
  deferMessage(message: Settled, propertiesToModify?: PropertiesToModify): Promise<void>
  deadLetterMessage(message: Settled, options?: DeadLetterOptions): Promise<void>
  /** Resolves with the new end of the lock, which `lockedUntilUtc` of the message also shows. */
  renewMessageLock(message: Settled): Promise<Date>

  /** Locks of messages stay until they end (SET-16); prefetched messages that nobody saw are given back. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
