import type { MessageHead } from '@tidemark/messaging/front'

/** Properties of the head that are fields of AMQP's `properties` section. */
export type HeadField =
  | 'messageId'
  | 'to'
  | 'subject'
  | 'replyTo'
  | 'correlationId'
  | 'contentType'
  | 'sessionId'
  | 'replyToSessionId'

/** Places in the `header` section. */
export const DURABLE_FIELD = 0
export const PRIORITY_FIELD = 1
export const TTL_FIELD = 2
export const FIRST_ACQUIRER_FIELD = 3

/** Places in the `properties` section. */
export const ABSOLUTE_EXPIRY_FIELD = 8
export const CREATION_FIELD = 9
export const PROPERTY_FIELDS = 13

/** 9999-12-31T23:59:59Z: an expiry from then on is none. .NET has no later time. */
export const NEVER_MS = 253_402_300_799_000

/** By place in the `properties` section. Undefined: only the bytes are kept, or it is made anew. */
export const HEAD_FIELDS: readonly (HeadField | undefined)[] = [
  'messageId',
  undefined,
  'to',
  'subject',
  'replyTo',
  'correlationId',
  'contentType',
  undefined,
  undefined,
  undefined,
  'sessionId',
  undefined,
  'replyToSessionId',
]

export const LOCK_TOKEN = 'x-opt-lock-token'
export const PARTITION_KEY = 'x-opt-partition-key'
export const SCHEDULED_ENQUEUE_TIME = 'x-opt-scheduled-enqueue-time'

/** Annotations that the broker writes: what a client says there is not kept. */
export const BROKER_ANNOTATIONS: ReadonlySet<string> = new Set([
  PARTITION_KEY,
  SCHEDULED_ENQUEUE_TIME,
  'x-opt-sequence-number',
  'x-opt-enqueue-sequence-number',
  'x-opt-enqueued-time',
  'x-opt-locked-until',
  'x-opt-message-state',
  'x-opt-deadletter-source',
  LOCK_TOKEN,
])

/** What only this front understands of a message: it stands in the head's `extra`. */
export interface AmqpExtra {
  readonly durable: true | undefined
  readonly priority: number | undefined
  readonly firstAcquirer: true | undefined
  /** Entries of the message annotations that a client gave: encoded keys and values in turn, as base64. */
  readonly annotations: string | undefined
  /** Likewise of the delivery annotations. */
  readonly deliveryAnnotations: string | undefined
}

/** Undefined: there is nothing. */
export function extraToStore(extra: AmqpExtra): MessageHead['extra'] {
  return Object.values(extra).every((value) => value === undefined) ? undefined : { ...extra }
}

export function storedExtra({ extra }: Pick<MessageHead, 'extra'>): Partial<AmqpExtra> {
  return typeof extra === 'object' && extra !== null ? extra : {}
}
