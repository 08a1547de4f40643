import type { MessageChanges, MessageHead, StoredValue } from '@tidemark/messaging/front'
import { instantIn, storedValueAt, textOf } from '../values/read-values.ts'
import type { ValueWriter } from '../values/value-writer.ts'
import { writeStoredValue } from '../values/write-stored-value.ts'
import {
  ABSOLUTE_EXPIRY_FIELD,
  CREATION_FIELD,
  HEAD_FIELDS,
  NEVER_MS,
  PROPERTY_FIELDS,
  type HeadField,
} from './message-fields.ts'
import { APPLICATION_PROPERTIES, PROPERTIES, type Offsets } from './sections.ts'
import { NULL } from '../values/type-codes.ts'

/** Since when a client sees the message, and until when. */
export interface EffectiveTimes {
  readonly creationMs: number
  readonly expiresMs: number
}

/** Items as a client sent them. */
interface SentItems {
  readonly bytes: Buffer
  readonly items: Offsets
}

interface PropertiesToWrite {
  /** With the changes. */
  readonly head: MessageHead
  readonly times: EffectiveTimes | undefined
  /** Fields that were not changed are written as they were sent. @default all of them are those of the head */
  readonly sent?: (SentItems & { readonly changed: MessageChanges['system'] }) | undefined
}

interface ApplicationPropertiesToWrite {
  /** Those that are set. */
  readonly properties: Readonly<Record<string, StoredValue>> | undefined
  /** The others are written as they were sent. */
  readonly sent?: (SentItems & { readonly removed: MessageChanges['removed'] }) | undefined
}

/** Writes the section `properties`. The times of a message that expires are the effective ones. */
export function writeProperties(
  writer: ValueWriter,
  { head, times, sent }: PropertiesToWrite,
): void {
  writer.section(PROPERTIES)
  writer.list(() => {
    for (let field = 0; field < PROPERTY_FIELDS; field++) {
      const name = HEAD_FIELDS[field]
      if (field === ABSOLUTE_EXPIRY_FIELD && times !== undefined) writer.timestamp(times.expiresMs)
      else if (field === CREATION_FIELD && times !== undefined) writer.timestamp(times.creationMs)
      else if (sent !== undefined && isKept(sent, field, name)) {
        writer.encoded(sent.bytes.subarray(sent.items[field], sent.items[field + 1]))
      } else writeField(writer, name, name && head[name])
    }
    return PROPERTY_FIELDS
  })
}

/** Writes the section `application-properties`. */
export function writeApplicationProperties(
  writer: ValueWriter,
  { properties = {}, sent }: ApplicationPropertiesToWrite,
): void {
  const set = Object.entries(properties)
  writer.section(APPLICATION_PROPERTIES)
  writer.map(() => {
    let count = 0
    if (sent !== undefined) {
      const { bytes, items, removed = [] } = sent
      const changed = new Set([...set.map(([name]) => name), ...removed])
      for (let item = 0; item + 2 < items.length; item += 2) {
        const name = textOf(storedValueAt(bytes, items[item]!))
        if (name !== undefined && changed.has(name)) continue
        writer.encoded(bytes.subarray(items[item], items[item + 2]))
        count += 2
      }
    }
    for (const [name, value] of set) {
      writer.text(name)
      writeStoredValue(writer, value)
      count += 2
    }
    return count
  })
}

/** A message that was sent without an id has got one since. */
function isKept(
  { bytes, items, changed }: NonNullable<PropertiesToWrite['sent']>,
  field: number,
  name: HeadField | undefined,
): boolean {
  if (field >= items.length - 1 || (name !== undefined && changed?.[name] !== undefined))
    return false
  // The client of .NET would take it for a time to live of some thousand years.
  if (field === ABSOLUTE_EXPIRY_FIELD) return !((instantIn(bytes, items[field]!) ?? 0) >= NEVER_MS)
  return name !== 'messageId' || bytes[items[field]!] !== NULL
}

function writeField(
  writer: ValueWriter,
  name: HeadField | undefined,
  text: string | undefined,
): void {
  if (text === undefined) writer.null()
  // AMQP has it as a symbol.
  else if (name === 'contentType') writer.symbol(text)
  else writer.text(text)
}
