import type { StoredValue } from '@tidemark/messaging/front'
import { digitsOf, NUMBER_KINDS } from './number-kinds.ts'
import * as code from './type-codes.ts'
import type { ValueWriter } from './value-writer.ts'

/** Writes what `storedValueAt` reads, and what the broker's own API stores. A kind that nobody knows is written as null. */
export function writeStoredValue(writer: ValueWriter, value: StoredValue): void {
  switch (typeof value) {
    case 'string':
      return writer.text(value)
    case 'number':
      return writer.number(value)
    case 'boolean':
      return writer.boolean(value)
    default:
      if (value === null || !writeTyped(writer, value)) writer.null()
  }
}

function writeTyped(writer: ValueWriter, value: Readonly<Record<string, unknown>>): boolean {
  const [entry] = Object.entries(value)
  if (entry === undefined) return false
  const [type, inner] = entry
  if (typeof inner === 'string') return writeText(writer, type, inner)
  if (typeof inner !== 'number') return false
  const number = NUMBER_KINDS.find(({ kind }) => kind === type)
  if (type === 'date') writer.timestamp(inner)
  else if (number !== undefined) writer.fixed(number.code, digitsOf(number, inner))
  else return false
  return true
}

/** A value of a type that is stored as a text. */
function writeText(writer: ValueWriter, type: string, text: string): boolean {
  switch (type) {
    case 'long':
      writer.exactLong(BigInt(text))
      return true
    case 'ulong':
      writer.exactUlong(BigInt(text))
      return true
    case 'timestamp':
      writer.exactTimestamp(BigInt(text))
      return true
    case 'symbol':
      writer.symbol(text)
      return true
    case 'char':
      writer.fixed(code.CHAR, (text.codePointAt(0) ?? 0).toString(16).padStart(8, '0'))
      return true
    case 'double':
      writer.double(Number(text))
      return true
    case 'bytes':
      writer.binary(Buffer.from(text, 'base64'))
      return true
    case 'described':
      writer.encoded(Buffer.from(text, 'base64'))
      return true
    case 'uuid':
      writer.fixed(code.UUID, text.replaceAll('-', ''))
      return true
    case 'decimal32':
      writer.fixed(code.DECIMAL_32, text)
      return true
    case 'decimal64':
      writer.fixed(code.DECIMAL_64, text)
      return true
    case 'decimal128':
      writer.fixed(code.DECIMAL_128, text)
      return true
    default:
      return false
  }
}
