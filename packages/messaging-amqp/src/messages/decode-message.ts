import { InvalidOptionError, type Random } from '@tidemark/contracts'
import {
  checkMessageIds,
  checkPropertyCount,
  type MessageHead,
  type NewMessage,
  type StoredValue,
} from '@tidemark/messaging/front'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import {
  idTextAt,
  instantIn,
  storedValueAt,
  textAt,
  textOf,
  uintAt,
} from '../values/read-values.ts'
import { BINARY_8, STRING_32, STRING_8 } from '../values/type-codes.ts'
import { ValueWriter } from '../values/value-writer.ts'
import {
  ABSOLUTE_EXPIRY_FIELD,
  BROKER_ANNOTATIONS,
  CREATION_FIELD,
  DURABLE_FIELD,
  extraToStore,
  FIRST_ACQUIRER_FIELD,
  HEAD_FIELDS,
  NEVER_MS,
  PARTITION_KEY,
  PRIORITY_FIELD,
  PROPERTY_FIELDS,
  SCHEDULED_ENQUEUE_TIME,
  TTL_FIELD,
  type HeadField,
} from './message-fields.ts'
import {
  DATA,
  FOOTER,
  KEPT_SECTIONS,
  readSections,
  sectionAt,
  type Offsets,
  type Sections,
  type Span,
} from './sections.ts'

/** Of its descriptor, and of the map around its entries. */
const FOOTER_BYTES = 16

/** As many as application properties. */
const MAX_ANNOTATIONS = 1_000

/** What a message says in its annotations. */
interface Annotations {
  readonly partitionKey: string | undefined
  readonly scheduledMs: number | undefined
  readonly kept: string | undefined
}

/** Above it, a time to live stands in the times of the properties. */
const MAX_UINT = 2 ** 32 - 1

/**
 * The encoded message from `start` to `end` as it is stored: its properties as the broker sees them, and its bytes from the
 * properties on as they are. Times that the client took from its own clock do not count (section 10), but for their difference.
 *
 * @throws ERR_MALFORMED_MESSAGE, ERR_INVALID_OPTION
 */
export function decodeMessage(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  random: Random,
): NewMessage {
  if (start === end) throw new MalformedMessageError('a message has no sections')
  const sections = readSections(bytes, start, end)
  const header = readHeader(bytes, sections.header)
  const annotations = readAnnotations(bytes, sections.messageAnnotations)
  const { kept, bodyAt } = keptBytes(bytes, sections)
  const fields = readFields(bytes, sections.properties)
  const { messageId = random.hex(16), sessionId, replyToSessionId } = fields
  const { partitionKey, scheduledMs } = annotations
  checkMessageIds({ messageId, sessionId, replyToSessionId, partitionKey })
  const head: MessageHead = {
    ...fields,
    messageId,
    partitionKey,
    scheduledMs,
    properties: readProperties(bytes, sections.applicationProperties),
    ...bodyPlace(kept, { ...sections, bodyAt }),
    extra: extraToStore({
      durable: header.durable,
      priority: header.priority,
      firstAcquirer: header.firstAcquirer,
      annotations: annotations.kept,
      deliveryAnnotations: readAnnotations(bytes, sections.deliveryAnnotations).kept,
    }),
  }
  return {
    head: JSON.stringify(head),
    body: kept,
    bytes: end - start,
    messageId,
    session: sessionId,
    ttlMs: header.ttlMs === MAX_UINT ? lifeOf(bytes, sections.properties) : header.ttlMs,
    scheduledMs,
    copies: [],
  }
}

interface Header {
  readonly durable: true | undefined
  readonly priority: number | undefined
  readonly ttlMs: number | undefined
  readonly firstAcquirer: true | undefined
}

function readHeader(bytes: Buffer, items: Offsets | undefined): Header {
  const at = (field: number): number | undefined => itemAt(items, field)
  const [priorityAt, ttlAt] = [at(PRIORITY_FIELD), at(TTL_FIELD)]
  const priority = priorityAt === undefined ? undefined : uintAt(bytes, priorityAt, 'priority')
  if (priority !== undefined && priority > 255) {
    throw new MalformedMessageError('priority must be at most 255')
  }
  const ttlMs = ttlAt === undefined ? undefined : uintAt(bytes, ttlAt, 'ttl')
  return {
    durable: flagAt(bytes, at(DURABLE_FIELD), 'durable'),
    priority,
    // Libraries whose messages always have a TTL write 0 for none. No message could be received with it.
    ttlMs: ttlMs || undefined,
    firstAcquirer: flagAt(bytes, at(FIRST_ACQUIRER_FIELD), 'first-acquirer'),
  }
}

function flagAt(bytes: Buffer, at: number | undefined, name: string): true | undefined {
  const flag = at === undefined ? null : storedValueAt(bytes, at)
  if (flag !== null && typeof flag !== 'boolean') {
    throw new MalformedMessageError(`${name} must be true or false`)
  }
  return flag || undefined
}

/** From the creation to the expiry that the client has written. Undefined: it never expires. */
function lifeOf(bytes: Buffer, items: Offsets | undefined): number | undefined {
  const [createdMs, expiryMs] = [CREATION_FIELD, ABSOLUTE_EXPIRY_FIELD].map((field) => {
    const at = itemAt(items, field)
    return at === undefined ? undefined : instantIn(bytes, at)
  })
  if (expiryMs !== undefined && expiryMs >= NEVER_MS) return undefined
  const lifeMs = (expiryMs ?? NaN) - (createdMs ?? NaN)
  return lifeMs > 0 ? lifeMs : MAX_UINT
}

/** In the order of sections, and a copy: it crosses to another thread without the client's other bytes. */
function keptBytes(
  bytes: Buffer,
  { kept, isInOrder, footer }: Sections,
): { readonly kept: Uint8Array; readonly bodyAt: Span } {
  const spans = KEPT_SECTIONS.flatMap((name) => kept.get(name) ?? [])
  const { start: bodyStart = 0, end: bodyEnd = 0 } = kept.get('body') ?? {}
  const start = spans
    .slice(
      0,
      spans.findIndex((span) => span.start === bodyStart),
    )
    .reduce((sum, span) => sum + span.end - span.start, 0)
  const bodyAt = { start, end: start + bodyEnd - bodyStart }
  const lacksSymbols = footer !== undefined && hasStringKeys(bytes, footer)
  if (isInOrder && !lacksSymbols) {
    return { kept: new Uint8Array(bytes.subarray(spans[0]?.start, spans.at(-1)?.end ?? 0)), bodyAt }
  }
  const pieces = spans.map((span) => bytes.subarray(span.start, span.end))
  if (lacksSymbols) pieces.splice(-1, 1, footerWithSymbols(bytes, footer))
  return { kept: new Uint8Array(Buffer.concat(pieces)), bodyAt }
}

function hasStringKeys(bytes: Buffer, items: Offsets): boolean {
  return items.some((at, item) => {
    const isKey = item % 2 === 0 && item < items.length - 1
    return isKey && (bytes[at] === STRING_8 || bytes[at] === STRING_32)
  })
}

/** Clients write its keys as strings, and Java's receiver ends for good on one that has any (part 3, section 3.2.10). */
function footerWithSymbols(bytes: Buffer, items: Offsets): Buffer {
  const writer = new ValueWriter(items.at(-1)! - items[0]! + FOOTER_BYTES)
  writer.section(FOOTER)
  writer.map(() => {
    for (let item = 0; item + 2 < items.length; item += 2) {
      const key = storedValueAt(bytes, items[item]!)
      if (typeof key === 'string') writer.symbol(key)
      else writer.encoded(bytes.subarray(items[item], items[item + 1]))
      writer.encoded(bytes.subarray(items[item + 1], items[item + 2]))
    }
    return items.length - 1
  })
  return writer.written
}

function readAnnotations(bytes: Buffer, items: Offsets | undefined): Annotations {
  let partitionKey: string | undefined
  let scheduledMs: number | undefined
  const kept: Buffer[] = []
  if (items !== undefined && items.length > 2 * MAX_ANNOTATIONS + 1) {
    throw new InvalidOptionError(`a message has at most ${MAX_ANNOTATIONS} annotations`)
  }
  for (let item = 0; items !== undefined && item + 2 < items.length; item += 2) {
    const [keyAt, valueAt, next] = [items[item]!, items[item + 1]!, items[item + 2]!]
    const key = textOf(storedValueAt(bytes, keyAt))
    if (key === PARTITION_KEY) partitionKey = partitionKeyAt(bytes, valueAt)
    else if (key === SCHEDULED_ENQUEUE_TIME) scheduledMs = instantAt(bytes, valueAt)
    else if (key === undefined || !BROKER_ANNOTATIONS.has(key)) {
      kept.push(bytes.subarray(keyAt, next))
    }
  }
  return {
    partitionKey,
    scheduledMs,
    kept: kept.length === 0 ? undefined : Buffer.concat(kept).toString('base64'),
  }
}

function partitionKeyAt(bytes: Buffer, at: number): string | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  const text = textOf(value)
  if (text !== undefined) return text
  throw new InvalidOptionError(`partitionKey (${PARTITION_KEY}) must be a text`)
}

function instantAt(bytes: Buffer, at: number): number | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  if (typeof value === 'object' && typeof value['date'] === 'number') return value['date']
  throw new InvalidOptionError(
    `scheduledEnqueueTimeUtc (${SCHEDULED_ENQUEUE_TIME}) must be a timestamp`,
  )
}

function readFields(
  bytes: Buffer,
  items: Offsets | undefined,
): Partial<Record<HeadField, string | undefined>> {
  const fields: Partial<Record<HeadField, string | undefined>> = {}
  if (items === undefined) return fields
  if (items.length - 1 > PROPERTY_FIELDS) {
    throw new MalformedMessageError(`properties have ${items.length - 1} fields`)
  }
  for (let field = 0; field < items.length - 1; field++) {
    const name = HEAD_FIELDS[field]
    if (name === undefined) continue
    const read = name === 'messageId' || name === 'correlationId' ? idTextAt : textAt
    fields[name] = read(bytes, items[field]!, name)
  }
  return fields
}

function readProperties(
  bytes: Buffer,
  items: Offsets | undefined,
): Readonly<Record<string, StoredValue>> | undefined {
  if (items === undefined) return undefined
  checkPropertyCount((items.length - 1) / 2)
  const entries: [string, StoredValue][] = []
  for (let item = 0; item + 2 < items.length; item += 2) {
    const key = textOf(storedValueAt(bytes, items[item]!))
    if (key === undefined) {
      throw new MalformedMessageError('the name of an application property must be a text')
    }
    entries.push([key, storedValueAt(bytes, items[item + 1]!)])
  }
  return Object.fromEntries(entries)
}

/** What the broker's own API makes of the body; see `MessageHead`. */
function bodyPlace(
  bytes: Uint8Array,
  { bodyCode, bodyValues, bodyAt: { start, end } }: Sections & { readonly bodyAt: Span },
): Pick<MessageHead, 'bodyKind' | 'bodyAt'> {
  if (bodyCode !== DATA || bodyValues.length > 1) return { bodyKind: 'amqp', bodyAt: [start, end] }
  const { valueAt } = sectionAt(Buffer.from(bytes.buffer), start, end)
  return { bodyKind: 'data', bodyAt: [valueAt + (bytes[valueAt] === BINARY_8 ? 2 : 5), end] }
}

function itemAt(items: Offsets | undefined, index: number): number | undefined {
  return items !== undefined && index < items.length - 1 ? items[index] : undefined
}
