import { describeValue } from '@tidemark/contracts/internal'
import type { PropertyValue } from '@tidemark/messaging'
import { childOf, element, type XmlElement } from '../atom/xml-element.ts'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { isDate, parseIsoDate } from '../platform/iso-date.ts'
import { flagOf } from './read-properties.ts'

const SCHEMA = 'http://www.w3.org/2001/XMLSchema'
const PAIR = 'KeyValueOfstringanyType'
const MAX_INT = 2n ** 31n - 1n

/** Application properties that a filter compares, or parameters. @throws ERR_INVALID_REQUEST */
export function readPropertyValues(given: XmlElement): Readonly<Record<string, PropertyValue>> {
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
  values: Readonly<Record<string, PropertyValue>>,
): XmlElement {
  return element(
    name,
    Object.entries(values).map(([key, value]) =>
      element(PAIR, [element('Key', key), valueElement(value)]),
    ),
  )
}

function readValue(given: XmlElement): PropertyValue {
  const { text, attributes } = given
  if (attributes['nil'] === 'true') return null
  // Without the prefix of its namespace.
  const type = attributes['type']?.replace(/^.*:/, '') ?? 'string'
  switch (type) {
    case 'string':
    case 'char':
    case 'guid':
    case 'anyURI':
      return text
    case 'boolean':
      return flagOf(given)
    case 'double':
    case 'float':
    case 'decimal':
      return numberOf(given)
    case 'byte':
    case 'unsignedByte':
    case 'short':
    case 'unsignedShort':
    case 'int':
    case 'unsignedInt':
    case 'long':
    case 'unsignedLong':
      return integerOf(given)
    case 'dateTime':
      return dateOf(given)
    case 'base64Binary':
      return new Uint8Array(Buffer.from(text, 'base64'))
    default:
      throw new InvalidRequestError(`The type ${describeValue(type)} of a value is not known.`)
  }
}

function numberOf({ text }: XmlElement): number {
  const value = text.trim()
  if (value === 'INF') return Infinity
  if (value === '-INF') return -Infinity
  const number = Number(value)
  if (value === 'NaN' || (value !== '' && !Number.isNaN(number))) return number
  throw new InvalidRequestError(`A value must be a number, got ${describeValue(text)}.`)
}

/** A number where it is exact. */
function integerOf({ text }: XmlElement): number | bigint {
  const value = text.trim()
  if (!/^[+-]?\d{1,20}$/.test(value)) {
    throw new InvalidRequestError(`A value must be an integer, got ${describeValue(text)}.`)
  }
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : BigInt(value.replace('+', ''))
}

function dateOf({ text }: XmlElement): Date {
  const date = parseIsoDate(text.trim())
  if (date !== undefined) return date
  throw new InvalidRequestError(`A value must be a date of ISO 8601, got ${describeValue(text)}.`)
}

function valueElement(value: PropertyValue): XmlElement {
  if (value === null) return element('Value', '', { 'i:nil': 'true' })
  const [type, text] = typed(value)
  return element('Value', text, { 'i:type': `d6p1:${type}`, 'xmlns:d6p1': SCHEMA })
}

function typed(value: NonNullable<PropertyValue>): readonly [type: string, text: string] {
  if (typeof value === 'string') return ['string', value]
  if (typeof value === 'boolean') return ['boolean', String(value)]
  if (typeof value === 'number') return ['double', String(value).replace('Infinity', 'INF')]
  if (typeof value === 'bigint') {
    const isInt = value <= MAX_INT && value >= -MAX_INT - 1n
    return [isInt ? 'int' : 'long', String(value)]
  }
  if (isDate(value)) return ['dateTime', value.toISOString()]
  return ['base64Binary', Buffer.from(value).toString('base64')]
}
