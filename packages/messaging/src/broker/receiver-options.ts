import type { ReceivedMessage } from '../messages/message.ts'

/**
 * A receiver becomes a listener with its first call that receives or subscribes, and stays one until it is closed, as the
 * official client attaches its link then. Peeking, and settling, never make it one (EXP-04).
 */
export interface ReceiverOptions {
  /** @default 'peekLock' */
  readonly receiveMode?: 'peekLock' | 'receiveAndDelete' | undefined
  /** `deadLetter`: of the entity's dead-letter queue. @default the entity itself */
  readonly subQueueType?: 'deadLetter' | undefined
  /** Messages that are received ahead of the calls that want them. @default 0 */
  readonly prefetchCount?: number | undefined
  /** Locks are renewed automatically for so long, in `subscribe` and of sessions; 0: never. Milliseconds. @default 300_000 */
  readonly maxAutoLockRenewalDurationInMs?: number | undefined
}

export interface AcceptSessionOptions extends ReceiverOptions {
  /** How long `acceptNextSession` waits. Milliseconds. @default 60_000 */
  readonly maxWaitTimeInMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ReceiveOptions {
  /** How long to wait for the first message. 0: returns what is there. @default 60_000 */
  readonly maxWaitTimeInMs?: number | undefined
  /** How long to wait for more after the first one. @default 1000, or the wait itself if that is less */
  readonly maxTimeAfterFirstMessageInMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface PeekOptions {
  /** Where to begin. @default after the last message that this receiver peeked */
  readonly fromSequenceNumber?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface SubscribeOptions {
  /** Complete a message when its handler resolves, abandon it when it rejects. @default true */
  readonly autoCompleteMessages?: boolean | undefined
  /** @default 1 */
  readonly maxConcurrentCalls?: number | undefined
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
