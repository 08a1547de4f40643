import { InvalidOptionError, type Random } from '@tidemark/contracts'
import {
  checkMessageIds,
  checkPropertyCount,
  type MessageHead,
  type NewMessage,
  type StoredValue,
} from '@tidemark/messaging/front'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { idTextAt, storedValueAt, textAt, uintAt } from '../values/read-values.ts'
import { BINARY_8 } from '../values/type-codes.ts'
import {
  BROKER_ANNOTATIONS,
  DURABLE_FIELD,
  extraToStore,
  HEAD_FIELDS,
  PARTITION_KEY,
  PRIORITY_FIELD,
  PROPERTY_FIELDS,
  SCHEDULED_ENQUEUE_TIME,
  TTL_FIELD,
  type HeadField,
} from './message-fields.ts'
import { DATA, readSections, type Offsets, type Sections } from './sections.ts'

/** As many as application properties. */
const MAX_ANNOTATIONS = 1_000

/** What a message says in its annotations. */
interface Annotations {
  readonly partitionKey: string | undefined
  readonly scheduledMs: number | undefined
  readonly kept: string | undefined
}

/**
 * The encoded message from `start` to `end` as it is stored: its properties as the broker sees them, and its bytes from the
 * properties on as they are. Times that the client took from its own clock do not count (section 10).
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
  const fields = readFields(bytes, sections.properties)
  const { messageId = random.hex(16), sessionId, replyToSessionId } = fields
  const { partitionKey, scheduledMs } = annotations
  checkMessageIds({ messageId, sessionId, replyToSessionId, partitionKey })
  const head: MessageHead = {
    ...fields,
    messageId,
    partitionKey,
    properties: readProperties(bytes, sections.applicationProperties),
    ...bodyPlace(bytes, sections),
    extra: extraToStore({
      durable: header.durable,
      priority: header.priority,
      annotations: annotations.kept,
    }),
  }
  return {
    head: JSON.stringify(head),
    // A copy: it crosses to another thread without the client's other bytes.
    body: new Uint8Array(bytes.subarray(sections.keptStart, end)),
    bytes: end - start,
    messageId,
    session: sessionId,
    ttlMs: header.ttlMs,
    scheduledMs,
    copies: [],
  }
}

interface Header {
  readonly durable: true | undefined
  readonly priority: number | undefined
  readonly ttlMs: number | undefined
}

function readHeader(bytes: Buffer, items: Offsets | undefined): Header {
  const at = (field: number): number | undefined => itemAt(items, field)
  const [durableAt, priorityAt, ttlAt] = [at(DURABLE_FIELD), at(PRIORITY_FIELD), at(TTL_FIELD)]
  const durable = durableAt === undefined ? null : storedValueAt(bytes, durableAt)
  if (durable !== null && typeof durable !== 'boolean') {
    throw new MalformedMessageError('durable must be true or false')
  }
  const priority = priorityAt === undefined ? undefined : uintAt(bytes, priorityAt, 'priority')
  if (priority !== undefined && priority > 255) {
    throw new MalformedMessageError('priority must be at most 255')
  }
  const ttlMs = ttlAt === undefined ? undefined : uintAt(bytes, ttlAt, 'ttl')
  // Libraries whose messages always have a TTL write 0 for none. No message could be received with it.
  return { durable: durable || undefined, priority, ttlMs: ttlMs || undefined }
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
    const key = storedValueAt(bytes, keyAt)
    if (key === PARTITION_KEY) partitionKey = partitionKeyAt(bytes, valueAt)
    else if (key === SCHEDULED_ENQUEUE_TIME) scheduledMs = instantAt(bytes, valueAt)
    else if (typeof key !== 'string' || !BROKER_ANNOTATIONS.has(key)) {
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
  if (typeof value === 'string') return value
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
    const key = storedValueAt(bytes, items[item]!)
    if (typeof key !== 'string') {
      throw new MalformedMessageError('the name of an application property must be a text')
    }
    entries.push([key, storedValueAt(bytes, items[item + 1]!)])
  }
  return Object.fromEntries(entries)
}

/** What the broker's own API makes of the body; see `MessageHead`. */
function bodyPlace(
  bytes: Buffer,
  { keptStart, bodyStart, bodyEnd, bodyCode, bodyValues }: Sections,
): Pick<MessageHead, 'bodyKind' | 'bodyAt'> {
  const [valueAt, ...others] = bodyValues
  if (bodyCode !== DATA || valueAt === undefined || others.length > 0) {
    return {
      bodyKind: 'amqp',
      bodyAt: [bodyStart - keptStart, bodyEnd - keptStart],
    }
  }
  const start = valueAt + (bytes[valueAt] === BINARY_8 ? 2 : 5)
  return { bodyKind: 'data', bodyAt: [start - keptStart, bodyEnd - keptStart] }
}

function itemAt(items: Offsets | undefined, index: number): number | undefined {
  return items !== undefined && index < items.length - 1 ? items[index] : undefined
}
