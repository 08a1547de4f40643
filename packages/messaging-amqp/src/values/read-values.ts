import { isUtf8 } from 'node:buffer'
import type { StoredValue } from '@tidemark/messaging/front'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { endOfValue, uint32At } from './scan-values.ts'
import * as code from './type-codes.ts'

const HIGH = 2 ** 32
/** Instants further away from 1970 are no dates in JavaScript. */
const MAX_DATE_MS = 8.64e15
const REPLACEMENT = '\uFFFD'

/**
 * What the value at `at` means: the broker's rules and its own API see this, while the bytes stay as they are. The scan of
 * the value must have found it well-formed.
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
    case code.SYMBOL_8:
      return textIn(bytes, value + 1, bytes[value]!)
    case code.STRING_32:
    case code.SYMBOL_32:
      return textIn(bytes, value + 4, uint32At(bytes, value))
    case code.BINARY_8:
      return { bytes: bytes.toString('base64', value + 1, value + 1 + bytes[value]!) }
    case code.BINARY_32:
      return { bytes: bytes.toString('base64', value + 4, value + 4 + uint32At(bytes, value)) }
    case code.UUID:
      return { uuid: uuidIn(bytes, value) }
    case code.TIMESTAMP:
      return timestampIn(bytes, value)
    case code.CHAR:
      return characterIn(bytes, value)
    case code.DECIMAL_32:
      return { decimal32: bytes.toString('hex', value, value + 4) }
    case code.DECIMAL_64:
      return { decimal64: bytes.toString('hex', value, value + 8) }
    case code.DECIMAL_128:
      return { decimal128: bytes.toString('hex', value, value + 16) }
    case code.DESCRIBED:
      return describedIn(bytes, at)
    default:
      return numberAt(bytes, at)
  }
}

/** Of a string or symbol; undefined of null. @throws ERR_MALFORMED_MESSAGE */
export function textAt(bytes: Buffer, at: number, name: string): string | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  if (typeof value === 'string') return value
  throw new MalformedMessageError(`${name} must be a text`)
}

/** Of an unsigned whole number up to 2^32 - 1; undefined of null. @throws ERR_MALFORMED_MESSAGE */
export function uintAt(bytes: Buffer, at: number, name: string): number | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < HIGH) {
    return value
  }
  throw new MalformedMessageError(`${name} must be an unsigned number`)
}

/** The text form of an id, which may be a string, a ulong, a uuid or binary; undefined of null. @throws ERR_MALFORMED_MESSAGE */
export function idTextAt(bytes: Buffer, at: number, name: string): string | undefined {
  const value = storedValueAt(bytes, at)
  if (value === null) return undefined
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (typeof value === 'object') {
    const { ulong, long, uuid, bytes: base64 } = value
    const text = ulong ?? long ?? uuid ?? base64
    if (typeof text === 'string') return text
  }
  throw new MalformedMessageError(`${name} must be a text, a whole number, a uuid or bytes`)
}

function numberAt(bytes: Buffer, at: number): StoredValue {
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
      return doubleOf(bytes.readFloatBE(value))
    case code.DOUBLE:
      return doubleOf(bytes.readDoubleBE(value))
    case code.ULONG: {
      const whole = uint32At(bytes, value) * HIGH + uint32At(bytes, value + 4)
      if (Number.isSafeInteger(whole)) return whole
      const exact = String(bytes.readBigUInt64BE(value))
      return bytes[value]! < 0x80 ? { long: exact } : { ulong: exact }
    }
    case code.LONG:
      return safeLongIn(bytes, value) ?? { long: String(bytes.readBigInt64BE(value)) }
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

function doubleOf(value: number): StoredValue {
  return Number.isFinite(value) ? value : { double: String(value) }
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
