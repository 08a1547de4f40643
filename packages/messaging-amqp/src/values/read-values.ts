import { isUtf8 } from 'node:buffer'
import type { StoredValue } from '@tidemark/messaging/front'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { kindOfCode } from './number-kinds.ts'
import { endOfValue, uint32At } from './scan-values.ts'
import * as code from './type-codes.ts'

const HIGH = 2 ** 32
/** Instants further away from 1970 are no dates in JavaScript. */
const MAX_DATE_MS = 8.64e15
const REPLACEMENT = '\uFFFD'
/** What an id may be, beside a text and a plain number. */
const ID_KINDS: ReadonlySet<string> = new Set(
  'byte ubyte short ushort uint int64 uint64 long ulong uuid bytes symbol char'.split(' '),
)

/**
 * What the value at `at` means, with its type: the broker's rules and its own API see this, while the bytes stay as they are.
 * The scan of the value must have found it well-formed.
 *
 * @throws ERR_MALFORMED_MESSAGE for a list, map or array, which properties cannot have
 */
export function storedValueAt(bytes: Buffer, at: number): StoredValue {
  const value = at + 1
  switch (bytes[at]) {
    case code.NULL:
      return null
    case code.TRUE:
      return true
    case code.FALSE:
      return false
    case code.BOOLEAN:
      return bytes[value] !== 0
    case code.STRING_8:
      return textIn(bytes, value + 1, bytes[value]!)
    case code.STRING_32:
      return textIn(bytes, value + 4, uint32At(bytes, value))
    case code.SYMBOL_8:
      return { symbol: textIn(bytes, value + 1, bytes[value]!) }
    case code.SYMBOL_32:
      return { symbol: textIn(bytes, value + 4, uint32At(bytes, value)) }
    case code.BINARY_8:
      return { bytes: bytes.toString('base64', value + 1, value + 1 + bytes[value]!) }
    case code.BINARY_32:
      return { bytes: bytes.toString('base64', value + 4, value + 4 + uint32At(bytes, value)) }
    case code.UUID:
      return { uuid: uuidIn(bytes, value) }
    case code.TIMESTAMP:
      return timestampIn(bytes, value)
    case code.CHAR:
      return { char: characterIn(bytes, value) }
    case code.DECIMAL_32:
      return { decimal32: bytes.toString('hex', value, value + 4) }
    case code.DECIMAL_64:
      return { decimal64: bytes.toString('hex', value, value + 8) }
    case code.DECIMAL_128:
      return { decimal128: bytes.toString('hex', value, value + 16) }
    case code.DESCRIBED:
      return describedIn(bytes, at)
    default:
      return typedNumberAt(bytes, at)
  }
}

/** Of a string, symbol or character; undefined of null. @throws ERR_MALFORMED_MESSAGE */
export function textAt(bytes: Buffer, at: number, name: string): string | undefined {
  if (bytes[at] === code.NULL) return undefined
  const text = textOf(storedValueAt(bytes, at))
  if (text !== undefined) return text
  throw new MalformedMessageError(`${name} must be a text`)
}

/** Of a string, symbol or character. Undefined: it is none of them. */
export function textOf(value: StoredValue | undefined): string | undefined {
  const text = typeof value === 'object' ? (value?.['symbol'] ?? value?.['char']) : value
  return typeof text === 'string' ? text : undefined
}

/** Of an unsigned whole number up to 2^32 - 1; undefined of null. @throws ERR_MALFORMED_MESSAGE */
export function uintAt(bytes: Buffer, at: number, name: string): number | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  const [number] = typeof value === 'object' ? Object.values(value) : [value]
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < HIGH) {
    return number
  }
  throw new MalformedMessageError(`${name} must be an unsigned number`)
}

/** Of a timestamp: epoch ms. Undefined: it is another value. */
export function instantIn(bytes: Buffer, at: number): number | undefined {
  const value = storedValueAt(bytes, at)
  const date = typeof value === 'object' ? value?.['date'] : undefined
  return typeof date === 'number' ? date : undefined
}

/** The text form of an id, which may be a string, a ulong, a uuid or binary; undefined of null. @throws ERR_MALFORMED_MESSAGE */
export function idTextAt(bytes: Buffer, at: number, name: string): string | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (typeof value === 'object') {
    const [type = '', inner] = Object.entries(value)[0] ?? []
    if (ID_KINDS.has(type)) return String(inner)
  }
  throw new MalformedMessageError(`${name} must be a text, a whole number, a uuid or bytes`)
}

function typedNumberAt(bytes: Buffer, at: number): StoredValue {
  const number = numberAt(bytes, at)
  if (typeof number === 'bigint') {
    return bytes[at] === code.ULONG ? { ulong: String(number) } : { long: String(number) }
  }
  const kind = kindOfCode(bytes[at]!)
  if (kind === 'float' || kind === 'float64') {
    // JSON has no such numbers.
    if (Object.is(number, -0)) return { double: '-0' }
    if (!Number.isFinite(number)) return { double: String(number) }
    if (kind === 'float64' && !Number.isInteger(number)) return number
  }
  return kind === undefined ? number : { [kind]: number }
}

/** A whole number that a double does not hold exactly is a bigint. @throws ERR_MALFORMED_MESSAGE */
function numberAt(bytes: Buffer, at: number): number | bigint {
  const value = at + 1
  switch (bytes[at]) {
    case code.UINT_0:
    case code.ULONG_0:
      return 0
    case code.UBYTE:
    case code.SMALL_UINT:
    case code.SMALL_ULONG:
      return bytes[value]!
    case code.BYTE:
    case code.SMALL_INT:
    case code.SMALL_LONG:
      return bytes.readInt8(value)
    case code.USHORT:
      return bytes.readUInt16BE(value)
    case code.SHORT:
      return bytes.readInt16BE(value)
    case code.UINT:
      return uint32At(bytes, value)
    case code.INT:
      return bytes.readInt32BE(value)
    case code.FLOAT:
      return bytes.readFloatBE(value)
    case code.DOUBLE:
      return bytes.readDoubleBE(value)
    case code.ULONG: {
      const whole = uint32At(bytes, value) * HIGH + uint32At(bytes, value + 4)
      return Number.isSafeInteger(whole) ? whole : bytes.readBigUInt64BE(value)
    }
    case code.LONG:
      return safeLongIn(bytes, value) ?? bytes.readBigInt64BE(value)
    default:
      throw new MalformedMessageError('a property is a list, a map or an array')
  }
}

/** .NET and Java write dates with an offset, periods and addresses so (`com.microsoft:timespan`, …). Kept as they are. */
function describedIn(bytes: Buffer, at: number): StoredValue {
  const valueAt = endOfValue(bytes, at + 1, bytes.length)
  // What a property cannot be, it cannot be under a name, either.
  storedValueAt(bytes, valueAt)
  return { described: bytes.toString('base64', at, endOfValue(bytes, valueAt, bytes.length)) }
}

function safeLongIn(bytes: Buffer, at: number): number | undefined {
  const whole = bytes.readInt32BE(at) * HIGH + uint32At(bytes, at + 4)
  return Number.isSafeInteger(whole) ? whole : undefined
}

function timestampIn(bytes: Buffer, at: number): StoredValue {
  const ms = safeLongIn(bytes, at)
  return ms !== undefined && Math.abs(ms) <= MAX_DATE_MS
    ? { date: ms }
    : { timestamp: String(bytes.readBigInt64BE(at)) }
}

function textIn(bytes: Buffer, start: number, length: number): string {
  const text = bytes.toString('utf8', start, start + length)
  // What is no UTF-8 becomes this character, which a text may also have.
  if (text.includes(REPLACEMENT) && !isUtf8(bytes.subarray(start, start + length))) {
    throw new MalformedMessageError('a text is not UTF-8')
  }
  return text
}

function characterIn(bytes: Buffer, at: number): string {
  const point = uint32At(bytes, at)
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    throw new MalformedMessageError(`no character has the code 0x${point.toString(16)}`)
  }
  return String.fromCodePoint(point)
}

function uuidIn(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + 16)
  const [a, b, c] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)]
  return `${a}-${b}-${c}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
