import type { Message } from '../messages/message.ts'

/** Collects messages up to the entity's maximum size. */
export declare class MessageBatch<Body = unknown> {
  readonly count: number
  readonly sizeInBytes: number
  readonly maxSizeInBytes: number
  /** False, and nothing is added, when it does not fit. */
  tryAddMessage(message: Message<Body>): boolean
}

export declare class MessageSender<Body = unknown> {
  readonly entityPath: string
  /** Together: all or none. Resolves when they are durable. */
  sendMessages(
    messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>
  createMessageBatch(options?: {
    readonly maxSizeInBytes?: number | undefined
  }): Promise<MessageBatch<Body>>
  /** Resolves with sequence numbers, by which the messages can be cancelled until they are enqueued. */
  scheduleMessages(
    messages: Message<Body> | readonly Message<Body>[],
    scheduledEnqueueTimeUtc: Date,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<readonly number[]>
  cancelScheduledMessages(
    sequenceNumbers: number | readonly number[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
