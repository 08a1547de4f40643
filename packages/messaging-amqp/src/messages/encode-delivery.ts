import { StoreDamagedError } from '@tidemark/contracts'
import {
  headOf,
  readChanges,
  SCHEDULED,
  type MessageHead,
  type StoredMessage,
} from '@tidemark/messaging/front'
import { endOfValue } from '../values/scan-values.ts'
import { UUID } from '../values/type-codes.ts'
import { ValueWriter } from '../values/value-writer.ts'
import { LOCK_TOKEN, PARTITION_KEY, SCHEDULED_ENQUEUE_TIME, storedExtra } from './message-fields.ts'
import {
  APPLICATION_PROPERTIES,
  DATA,
  DELIVERY_ANNOTATIONS,
  HEADER,
  itemsOf,
  MESSAGE_ANNOTATIONS,
  PROPERTIES,
  sectionAt,
} from './sections.ts'
import {
  writeApplicationProperties,
  writeProperties,
  type EffectiveTimes,
} from './write-properties.ts'

const MAX_UINT = 2 ** 32 - 1
/** What is written beside the stored bytes and the head. */
const USUAL_BYTES = 512
/** As the official client sends a body that is undefined. */
const NO_BODY = Buffer.from('null')

interface Delivered {
  readonly message: StoredMessage
  /** With the changes. */
  readonly head: MessageHead
  /** Undefined: it never expires. */
  readonly times: EffectiveTimes | undefined
}

interface Lock {
  readonly untilUtcMs: number
  /** Of a message that comes without a delivery, whose tag would say it. */
  readonly token?: string | undefined
}

/**
 * A stored message as a client gets it: a whole encoded message with the effective times. `lock` of a locked one.
 *
 * @throws ERR_STORE_DAMAGED
 */
export function encodeDelivery(message: StoredMessage, lock: Lock | undefined): Buffer {
  const shown = headOf(message)
  // An action of a rule may have removed it. The official client cannot renew the lock of a message without one.
  const head = { ...shown, messageId: shown.messageId ?? String(message.id) }
  const { ttlMs, enqueuedMs, expiresMs = enqueuedMs + (ttlMs ?? 0) } = message
  const times = ttlMs === undefined ? undefined : { creationMs: enqueuedMs, expiresMs }
  const delivered = { message, head, times }
  const writer = new ValueWriter(USUAL_BYTES + message.head.length + message.body.byteLength)
  try {
    writeHeader(writer, delivered)
    writeDeliveryAnnotations(writer, delivered, lock)
    writeAnnotations(writer, delivered, lock)
    if (head.bodyKind === 'data' || head.bodyKind === 'amqp') writeSent(writer, delivered)
    else writeOwn(writer, delivered)
  } catch (cause) {
    const { number, entity } = message
    throw new StoreDamagedError(`message ${number} of entity ${entity} is damaged`, { cause })
  }
  return writer.written
}

function writeHeader(
  writer: ValueWriter,
  { message: { ttlMs, deliveries }, head }: Delivered,
): void {
  const { durable, priority, firstAcquirer } = storedExtra(head)
  writer.section(HEADER)
  writer.list(() => {
    if (durable === true) writer.boolean(true)
    else writer.null()
    if (priority === undefined) writer.null()
    else writer.ubyte(priority)
    // A TTL that does not fit is left out: clients then take it from the times in the properties (EXP-25).
    if (ttlMs === undefined || ttlMs > MAX_UINT) writer.null()
    else writer.uint(ttlMs)
    if (firstAcquirer === true) writer.boolean(true)
    else writer.null()
    writer.uint(deliveries)
    return 5
  })
}

/** Go settles and renews by the lock token that stands there. */
function writeDeliveryAnnotations(
  writer: ValueWriter,
  { head }: Delivered,
  lock: Lock | undefined,
): void {
  const { deliveryAnnotations } = storedExtra(head)
  if (lock === undefined && deliveryAnnotations === undefined) return
  writer.section(DELIVERY_ANNOTATIONS)
  writer.map(() => {
    const count = writeKept(writer, deliveryAnnotations)
    if (lock === undefined) return count
    writer.symbol(LOCK_TOKEN)
    if (lock.token === undefined) writer.null()
    else writer.fixed(UUID, lock.token.replaceAll('-', ''))
    return count + 2
  })
}

function writeAnnotations(
  writer: ValueWriter,
  { message, head }: Delivered,
  lock: Lock | undefined,
): void {
  const { partitionKey } = head
  const { state, deadLetterSource } = message
  writer.section(MESSAGE_ANNOTATIONS)
  writer.map(() => {
    writer.symbol('x-opt-sequence-number')
    writer.long(message.number)
    writer.symbol('x-opt-enqueue-sequence-number')
    writer.long(message.firstNumber)
    writer.symbol('x-opt-enqueued-time')
    writer.timestamp(message.enqueuedMs)
    writer.symbol('x-opt-message-state')
    writer.int(state)
    let count = 8
    if (lock !== undefined) {
      writer.symbol('x-opt-locked-until')
      writer.timestamp(lock.untilUtcMs)
      count += 2
    }
    const scheduledMs = state === SCHEDULED ? message.enqueuedMs : head.scheduledMs
    if (scheduledMs !== undefined) {
      writer.symbol(SCHEDULED_ENQUEUE_TIME)
      writer.timestamp(scheduledMs)
      count += 2
    }
    if (partitionKey !== undefined) {
      writer.symbol(PARTITION_KEY)
      writer.text(partitionKey)
      count += 2
    }
    if (deadLetterSource !== undefined) {
      writer.symbol('x-opt-deadletter-source')
      writer.text(deadLetterSource)
      count += 2
    }
    return count + writeKept(writer, storedExtra(head).annotations)
  })
}

/** Annotations of the sender. How many keys and values they are. */
function writeKept(writer: ValueWriter, annotations: string | undefined): number {
  if (annotations === undefined) return 0
  const kept = Buffer.from(annotations, 'base64')
  writer.encoded(kept)
  let count = 0
  for (let at = 0; at < kept.length; count++) at = endOfValue(kept, at, kept.length)
  return count
}

/** What came over AMQP: its bytes, but for what the broker and others have changed. */
function writeSent(writer: ValueWriter, { message, head, times }: Delivered): void {
  const { buffer, byteOffset, byteLength: end } = message.body
  const bytes = Buffer.from(buffer, byteOffset, end)
  const { properties, removed, system } = readChanges(message.changes)
  let at = 0
  let section = at < end ? sectionAt(bytes, at, end) : undefined
  if (section?.code === PROPERTIES) {
    const items = itemsOf(bytes, section, end)
    writeProperties(writer, { head, times, sent: { bytes, items, changed: system } })
    at = items.at(-1)!
    section = at < end ? sectionAt(bytes, at, end) : undefined
  } else writeProperties(writer, { head, times })
  if (section?.code === APPLICATION_PROPERTIES && (properties ?? removed) !== undefined) {
    const items = itemsOf(bytes, section, end)
    writeApplicationProperties(writer, { properties, sent: { bytes, items, removed } })
    at = items.at(-1)!
  } else if (properties !== undefined) writeApplicationProperties(writer, { properties })
  writer.encoded(bytes.subarray(at))
}

/** What the broker's own API sent. */
function writeOwn(writer: ValueWriter, { message, head, times }: Delivered): void {
  const { body, session } = message
  writeProperties(writer, { head: { ...head, sessionId: head.sessionId ?? session }, times })
  if (head.properties !== undefined) {
    writeApplicationProperties(writer, { properties: head.properties })
  }
  writer.section(DATA)
  writer.binary(head.bodyKind === 'json' && body.byteLength === 0 ? NO_BODY : body)
}
