/** A value of an application property. */
export type PropertyValue = string | number | bigint | boolean | Date | Uint8Array | null

/** A message to send. Names are those of the official Service Bus client. */
export interface Message<Body = unknown> {
  /** Any JSON value, or bytes, which arrive as they are. */
  readonly body: Body
  /** At most 128 characters. No id has NUL, or half of a surrogate pair. @default a random one */
  readonly messageId?: string | undefined
  /** Your own description of the body. @default none */
  readonly contentType?: string | undefined
  /** Your own id of what it belongs to. @default none */
  readonly correlationId?: string | undefined
  /** At most 128 characters. Equals `sessionId` when both are given. @default none */
  readonly partitionKey?: string | undefined
  /** The session that it belongs to. 1 to 128 characters. @default none */
  readonly sessionId?: string | undefined
  /** The session of an answer. @default none */
  readonly replyToSessionId?: string | undefined
  /** Milliseconds. The entity's default is also a ceiling. @unit ms @range any number above 0 @default the entity's */
  readonly timeToLive?: number | undefined
  /** Your own label, for rules and receivers. @default none */
  readonly subject?: string | undefined
  /** Your own address of the receiver. The broker does not route by it. @default none */
  readonly to?: string | undefined
  /** Where an answer is to go. @default none */
  readonly replyTo?: string | undefined
  /** The message is enqueued at this time. A time that has passed means now. @default at once */
  readonly scheduledEnqueueTimeUtc?: Date | undefined
  /** Your own properties, for rules and receivers. At most 1,000. @default none */
  readonly applicationProperties?: Readonly<Record<string, PropertyValue>> | undefined
}

/** A message that was received or peeked. */
export interface ReceivedMessage<Body = unknown> extends Message<Body> {
  readonly messageId: string
  readonly deadLetterReason?: string | undefined
  readonly deadLetterErrorDescription?: string | undefined
  /** Where the message died, if it was forwarded from a dead-letter queue. */
  readonly deadLetterSource?: string | undefined
  /** A GUID. Undefined in receive-and-delete and of peeked messages. */
  readonly lockToken?: string | undefined
  /** Unsuccessful deliveries before this one. */
  readonly deliveryCount: number
  readonly enqueuedTimeUtc: Date
  /** Beyond the year 9000 for a message that never expires. */
  readonly expiresAtUtc: Date
  /** Later after each renewal through the receiver. */
  readonly lockedUntilUtc?: Date | undefined
  readonly sequenceNumber: number
  /** The sequence number where the message was first enqueued. */
  readonly enqueuedSequenceNumber: number
  readonly state: 'active' | 'deferred' | 'scheduled'
}
