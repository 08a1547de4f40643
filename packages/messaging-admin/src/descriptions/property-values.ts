import { describeValue } from '@tidemark/contracts/internal'
import type { StoredValue } from '@tidemark/messaging/front'
import { childOf, element, type XmlElement } from '../atom/xml-element.ts'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { isoDate, parseIsoDate } from '../platform/iso-date.ts'
import { flagOf } from './read-properties.ts'
import { durationOf, timeSpan } from './time-span.ts'

const SCHEMA = 'http://www.w3.org/2001/XMLSchema'
/** Of the types that .NET has beside those of the schema. */
const SERIALIZATION = 'http://schemas.microsoft.com/2003/10/Serialization/'
const PAIR = 'KeyValueOfstringanyType'
const MAX_INT = 2 ** 31

/** Types of whole numbers, and how they are stored. A number says `int` by itself. */
const WHOLE_KINDS: Readonly<Record<string, string>> = {
  byte: 'byte',
  unsignedByte: 'ubyte',
  short: 'short',
  unsignedShort: 'ushort',
  unsignedInt: 'uint',
  long: 'int64',
  unsignedLong: 'uint64',
}

/** How every other type is shown. */
const SHOWN_TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(WHOLE_KINDS).map(([type, kind]) => [kind, type])),
  long: 'long',
  ulong: 'unsignedLong',
  float: 'float',
  float64: 'double',
  double: 'double',
  bytes: 'base64Binary',
  uuid: 'guid',
}

/** Application properties that a filter compares, or parameters. @throws ERR_INVALID_REQUEST */
export function readPropertyValues(given: XmlElement): Readonly<Record<string, StoredValue>> {
  return Object.fromEntries(
    given.children.map((pair) => {
      const [key, value] = [childOf(pair, 'Key'), childOf(pair, 'Value')]
      if (pair.name !== PAIR || key === undefined || value === undefined) {
        throw new InvalidRequestError(
          `${given.name} must have elements ${PAIR} with Key and Value, got ${pair.name}.`,
        )
      }
      return [key.text, readValue(value)]
    }),
  )
}

/** The prefix of the type's namespace has four characters, which the official client counts on. */
export function propertyValuesElement(
  name: string,
  values: Readonly<Record<string, StoredValue>>,
): XmlElement {
  return element(
    name,
    Object.entries(values).map(([key, value]) =>
      element(PAIR, [element('Key', key), valueElement(value)]),
    ),
  )
}

function readValue(given: XmlElement): StoredValue {
  const { text, attributes } = given
  if (attributes['nil'] === 'true') return null
  // Without the prefix of its namespace.
  const type = attributes['type']?.replace(/^.*:/, '') ?? 'string'
  switch (type) {
    case 'string':
    case 'anyURI':
      return text
    case 'char':
      return { char: characterOf(text) }
    case 'guid':
      return { uuid: uuidOf(text) }
    case 'boolean':
      return flagOf(given)
    case 'float':
      return floatOf(given, 'float')
    case 'double':
    case 'decimal':
      return floatOf(given, 'float64')
    case 'int':
    case 'byte':
    case 'unsignedByte':
    case 'short':
    case 'unsignedShort':
    case 'unsignedInt':
    case 'long':
    case 'unsignedLong':
      return integerOf(given, WHOLE_KINDS[type])
    case 'dateTime':
      return dateOf(given)
    case 'duration':
      return timeSpan(given)
    case 'base64Binary':
      return { bytes: Buffer.from(text, 'base64').toString('base64') }
    default:
      throw new InvalidRequestError(`The type ${describeValue(type)} of a value is not known.`)
  }
}

function uuidOf(text: string): string {
  const uuid = text.trim().toLowerCase()
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(uuid)) return uuid
  throw new InvalidRequestError(`A value must be a UUID, got ${describeValue(text)}.`)
}

/** .NET writes its code. */
function characterOf(text: string): string {
  const point = Number(text)
  return /^\d{1,5}$/.test(text) && point <= 0xffff ? String.fromCharCode(point) : text.slice(0, 1)
}

function floatOf({ text }: XmlElement, kind: 'float' | 'float64'): StoredValue {
  const value = text.trim()
  const number = Number(value.replace('INF', 'Infinity'))
  if (value === '' || (Number.isNaN(number) && value !== 'NaN')) {
    throw new InvalidRequestError(`A value must be a number, got ${describeValue(text)}.`)
  }
  if (!Number.isFinite(number)) return { double: String(number) }
  return kind === 'float' || Number.isInteger(number) ? { [kind]: number } : number
}

/** Exact, whatever its size. */
function integerOf({ text }: XmlElement, kind: string | undefined): StoredValue {
  const value = text.trim()
  if (!/^[+-]?\d{1,20}$/.test(value)) {
    throw new InvalidRequestError(`A value must be an integer, got ${describeValue(text)}.`)
  }
  const number = Number(value)
  if (!Number.isSafeInteger(number)) {
    return { [kind === 'uint64' ? 'ulong' : 'long']: String(BigInt(value.replace('+', ''))) }
  }
  return kind === undefined ? number : { [kind]: number }
}

function dateOf({ text }: XmlElement): StoredValue {
  const date = parseIsoDate(text.trim())
  if (date !== undefined) return { date: date.getTime() }
  throw new InvalidRequestError(`A value must be a date of ISO 8601, got ${describeValue(text)}.`)
}

function valueElement(value: StoredValue): XmlElement {
  if (value === null) return element('Value', '', { 'i:nil': 'true' })
  const [type, text] = typed(value)
  const schema = type === 'guid' || type === 'char' || type === 'duration' ? SERIALIZATION : SCHEMA
  return element('Value', text, { 'i:type': `d6p1:${type}`, 'xmlns:d6p1': schema })
}

function typed(value: NonNullable<StoredValue>): readonly [type: string, text: string] {
  if (typeof value === 'string') return ['string', value]
  if (typeof value === 'boolean') return ['boolean', String(value)]
  if (typeof value === 'number') return [numberType(value), String(value)]
  const [[kind, inner] = ['', '']] = Object.entries(value)
  // The official client of JavaScript reads no long.
  if (kind === 'long' && numberType(Number(inner)) === 'int') return ['int', String(inner)]
  if (kind === 'date') return ['dateTime', isoDate(Number(inner))]
  if (kind === 'char') return ['char', String(String(inner).charCodeAt(0))]
  if (kind === 'described') {
    const duration = durationOf(String(inner))
    if (duration !== undefined) return ['duration', duration]
  }
  return [SHOWN_TYPES[kind] ?? 'string', String(inner).replace('Infinity', 'INF')]
}

function numberType(value: number): string {
  if (!Number.isSafeInteger(value)) return 'double'
  return value >= -MAX_INT && value < MAX_INT ? 'int' : 'long'
}
