import {
  InvalidOptionError,
  StoreDamagedError,
  type Random,
  type Telemetry,
} from '@tidemark/contracts'
import {
  checkOptions,
  describeValue,
  option,
  optionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import {
  DEFERRED,
  readChanges,
  SCHEDULED,
  type MessageChanges,
  type NewMessage,
  type StoredMessage,
  type StoredValue,
  type SystemProperty,
} from '@tidemark/store/messages'
import { epochMsOf, utcDate } from '../platform/utc-date.ts'
import { checkPartitionKey, ID_RULES } from './message-id.ts'
import type { Message, PropertyValue, ReceivedMessage } from './message.ts'
import { fromStoredValues, MAX_PROPERTIES, toStoredValues } from './stored-value.ts'

/** The properties of a message as text: what the sender gave, written once. Changes lie over it in the row. */
export interface MessageHead extends Readonly<Partial<Record<SystemProperty, string | undefined>>> {
  readonly partitionKey?: string | undefined
  /** When the sender wanted it to be enqueued: epoch ms. */
  readonly scheduledMs?: number | undefined
  readonly properties?: Readonly<Record<string, StoredValue>> | undefined
  /**
   * What the stored body is: JSON or bytes that this API was given, or parts of an encoded AMQP message, of which `bodyAt` is
   * the body: `data` for bytes that may be JSON, as the official client takes them, and `amqp` for any other body.
   */
  readonly bodyKind: 'json' | 'bytes' | 'data' | 'amqp'
  /** Where the body begins and ends in the stored bytes. @default all of them */
  readonly bodyAt?: readonly [start: number, end: number] | undefined
  /** What only a front for a protocol understands. It is kept as it is. */
  readonly extra?: StoredValue | undefined
}

/** 9999-12-31T23:59:59.999Z, of a message that never expires. */
const NEVER_MS = 253_402_300_799_999
/** Makes a buffer for each text. One of a pool would cross to the writer's thread with the whole pool. */
const utf8 = new TextEncoder()

const MESSAGE_RULES: OptionRules<Message> = {
  body: option.anything,
  ...ID_RULES,
  contentType: option.text,
  correlationId: option.text,
  timeToLive: optionRule('milliseconds above 0', (value) => typeof value === 'number' && value > 0),
  subject: option.text,
  to: option.text,
  replyTo: option.text,
  scheduledEnqueueTimeUtc: optionRule('a date', (value) => epochMsOf(value) !== undefined),
  applicationProperties: optionRule(
    'an object of properties',
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  ),
}

interface EncodingContext {
  readonly random: Random
  /** Adds the present trace context to the properties. */
  readonly telemetry?: Telemetry | undefined
}

/** @throws ERR_INVALID_OPTION */
export function encodeMessage(
  message: Message,
  { random, telemetry }: EncodingContext,
): NewMessage {
  checkMessage(message)
  const { body, messageId = random.hex(16), sessionId, partitionKey, timeToLive } = message
  const scheduledMs = epochMsOf(message.scheduledEnqueueTimeUtc)
  const applicationProperties = propertiesOf(message, telemetry)
  const bytes = encodeBody(body)
  const head: MessageHead = {
    messageId,
    contentType: message.contentType,
    correlationId: message.correlationId,
    partitionKey,
    sessionId,
    replyToSessionId: message.replyToSessionId,
    subject: message.subject,
    to: message.to,
    replyTo: message.replyTo,
    scheduledMs,
    properties: applicationProperties && toStoredValues(applicationProperties),
    bodyKind: body instanceof Uint8Array ? 'bytes' : 'json',
  }
  const text = JSON.stringify(head)
  return {
    head: text,
    body: bytes,
    bytes: Buffer.byteLength(text) + bytes.byteLength,
    messageId,
    session: sessionId,
    ttlMs: timeToLive === undefined || timeToLive >= NEVER_MS ? undefined : Math.ceil(timeToLive),
    scheduledMs,
    copies: [],
  }
}

/** Its own, and a trace context if there is room for it. */
function propertiesOf(
  message: Message,
  telemetry: Telemetry | undefined,
): Message['applicationProperties'] {
  const { applicationProperties: own } = message
  const added = telemetry && presentContext(message, telemetry)
  if (added === undefined) return own
  const all = { ...added, ...own }
  return Object.keys(all).length > MAX_PROPERTIES ? own : all
}

function presentContext(
  message: Message,
  telemetry: Telemetry,
): Readonly<Record<string, string>> | undefined {
  try {
    return telemetry.messageProperties(message)
  } catch {
    // A message is sent without it, too.
    return undefined
  }
}

/** What the sender gave. */
export function parseHead(head: string): MessageHead {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only `encodeMessage` and fronts for protocols write this text.
  return JSON.parse(head) as MessageHead
}

/** A head with changes laid over it. */
export function changedHead(head: MessageHead, changes: MessageChanges): MessageHead {
  const { properties = {}, removed = [], system = {} } = changes
  const below = { ...head.properties }
  for (const name of removed) delete below[name]
  const above = Object.entries(system).map(([name, value]) => [name, value ?? undefined] as const)
  const shown: Readonly<Record<string, string | undefined>> = Object.fromEntries(above)
  return { ...head, ...shown, properties: { ...below, ...properties } }
}

/** What a stored message says of itself now. @throws ERR_STORE_DAMAGED */
export function headOf(
  message: Pick<StoredMessage, 'entity' | 'number' | 'head' | 'changes'>,
): MessageHead {
  return readable(message, () => {
    const head = parseHead(message.head)
    return message.changes === undefined ? head : changedHead(head, readChanges(message.changes))
  })
}

/** Undefined for a message that is damaged: it must not take others along. */
export function readableHead(message: Parameters<typeof headOf>[0]): MessageHead | undefined {
  try {
    return headOf(message)
  } catch {
    return undefined
  }
}

function readable<Result>(
  { entity, number }: Pick<StoredMessage, 'entity' | 'number'>,
  read: () => Result,
): Result {
  try {
    return read()
  } catch (cause) {
    throw new StoreDamagedError(`message ${number} of entity ${entity} is damaged`, { cause })
  }
}

/** `lock` of a message that was received under one. @throws ERR_STORE_DAMAGED */
export function decodeMessage<Body>(
  message: StoredMessage,
  lock: { readonly token: string; readonly untilUtcMs: number } | undefined,
): ReceivedMessage<Body> {
  const { properties = {}, bodyKind, bodyAt, ...shown } = headOf(message)
  const applicationProperties = fromStoredValues(properties)
  const { enqueuedMs, ttlMs } = message
  const scheduledMs = message.state === SCHEDULED ? enqueuedMs : shown.scheduledMs
  const expiresMs = message.expiresMs ?? (ttlMs === undefined ? NEVER_MS : enqueuedMs + ttlMs)
  return {
    body: readable(message, () => decodeBody<Body>(message.body, { bodyKind, bodyAt })),
    messageId: shown.messageId ?? '',
    contentType: shown.contentType,
    correlationId: shown.correlationId,
    partitionKey: shown.partitionKey,
    sessionId: shown.sessionId ?? message.session,
    replyToSessionId: shown.replyToSessionId,
    timeToLive: ttlMs,
    subject: shown.subject,
    to: shown.to,
    replyTo: shown.replyTo,
    scheduledEnqueueTimeUtc: scheduledMs === undefined ? undefined : utcDate(scheduledMs),
    applicationProperties,
    deadLetterReason: textOf(applicationProperties['DeadLetterReason']),
    deadLetterErrorDescription: textOf(applicationProperties['DeadLetterErrorDescription']),
    deadLetterSource: message.deadLetterSource,
    lockToken: lock?.token,
    deliveryCount: message.deliveries,
    enqueuedTimeUtc: utcDate(enqueuedMs),
    expiresAtUtc: utcDate(Math.min(expiresMs, NEVER_MS)),
    lockedUntilUtc: lock && utcDate(lock.untilUtcMs),
    sequenceNumber: message.number,
    enqueuedSequenceNumber: message.firstNumber,
    state:
      message.state === SCHEDULED
        ? 'scheduled'
        : message.state === DEFERRED
          ? 'deferred'
          : 'active',
  }
}

/** Application properties that a settlement changes. @throws ERR_INVALID_OPTION */
export function encodeChanges(
  properties: Readonly<Record<string, PropertyValue>> | undefined,
): MessageChanges | undefined {
  return properties && { properties: toStoredValues(properties) }
}

function checkMessage(message: Message): void {
  checkOptions(message, MESSAGE_RULES)
  checkPartitionKey(message)
}

/** The caller may change its bytes after the call, so they are copied. */
function encodeBody(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return new Uint8Array(body)
  if (body === undefined) return new Uint8Array()
  let text: string | undefined
  try {
    text = JSON.stringify(body)
  } catch (error) {
    throw new InvalidOptionError(
      'body must be a JSON value or bytes: it cannot be written as JSON',
      {
        cause: error,
      },
    )
  }
  if (text === undefined) {
    throw new InvalidOptionError(`body must be a JSON value or bytes, got ${describeValue(body)}`)
  }
  return utf8.encode(text)
}

function decodeBody<Body>(
  stored: Uint8Array,
  {
    bodyKind,
    bodyAt: [start, end] = [0, stored.byteLength],
  }: Pick<MessageHead, 'bodyKind' | 'bodyAt'>,
): Body {
  if (!(0 <= start && start <= end && end <= stored.byteLength)) {
    throw new RangeError(`the body is not at ${start} to ${end}`)
  }
  // An engine may give a buffer, which is another class.
  const bytes = new Uint8Array(stored.buffer, stored.byteOffset + start, end - start)
  const body =
    bodyKind === 'json' ? parseBody(bytes) : bodyKind === 'data' ? jsonOrBytes(bytes) : bytes
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The user says what the bodies of the entity are.
  return body as Body
}

function jsonOrBytes(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return bytes
  try {
    return parseBody(bytes)
  } catch {
    return bytes
  }
}

/** No bytes: the body was undefined. */
function parseBody(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
}

function textOf(value: PropertyValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
