import { InvalidDocumentError } from '@tidemark/contracts'

/** Object ids of PostgreSQL's built-in types; the same in every server. */
const TEXT_OID = 25
const BYTEA_OID = 17
const HEADER_BYTES = 20
/** Stands for the length of a NULL element, as int32. */
const NULL_LENGTH = -1

/**
 * An array of `text` in PostgreSQL's binary format, for a parameter of type `text[]`.
 *
 * Throws `InvalidDocumentError` for a text with a NUL, which PostgreSQL cannot store. Such a text would fail all
 * commits in the same statement, so callers check before they combine values; this is the last check.
 */
export function textArray(values: readonly (string | null)[]): Buffer {
  const lengths = new Int32Array(values.length)
  let bytes = HEADER_BYTES
  let hasNull = 0
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (value === null || value === undefined) {
      hasNull = 1
      lengths[index] = NULL_LENGTH
      bytes += 4
    } else {
      if (value.includes('\0')) {
        throw new InvalidDocumentError('PostgreSQL cannot store a text with a NUL character')
      }
      const length = Buffer.byteLength(value)
      lengths[index] = length
      bytes += 4 + length
    }
  }
  if (values.length === 0) return emptyArray(TEXT_OID)
  const buffer = Buffer.allocUnsafe(bytes)
  let at = writeHeader(buffer, { hasNull, elementOid: TEXT_OID, length: values.length })
  for (let index = 0; index < values.length; index++) {
    const length = lengths[index] ?? NULL_LENGTH
    at = buffer.writeInt32BE(length, at)
    if (length > 0) at += buffer.write(values[index] ?? '', at, length)
  }
  return buffer
}

/** An array of `bytea` in PostgreSQL's binary format. */
export function bytesArray(values: readonly Uint8Array[]): Buffer {
  if (values.length === 0) return emptyArray(BYTEA_OID)
  const bytes = values.reduce((sum, value) => sum + 4 + value.byteLength, HEADER_BYTES)
  const buffer = Buffer.allocUnsafe(bytes)
  let at = writeHeader(buffer, { hasNull: 0, elementOid: BYTEA_OID, length: values.length })
  for (const value of values) {
    at = buffer.writeInt32BE(value.byteLength, at)
    buffer.set(value, at)
    at += value.byteLength
  }
  return buffer
}

/** An array of integers as PostgreSQL's text, for a parameter of type `integer[]` or `bigint[]`. */
export function integerArray(values: readonly (number | null)[]): string {
  let text = '{'
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ','
    text += values[index] ?? 'NULL'
  }
  return `${text}}`
}

/** An array of booleans as PostgreSQL's text. */
export function booleanArray(values: readonly (boolean | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}

function emptyArray(elementOid: number): Buffer {
  const buffer = Buffer.alloc(12)
  buffer.writeInt32BE(elementOid, 8)
  return buffer
}

/** Returns the offset at which the elements begin. */
function writeHeader(
  buffer: Buffer,
  { hasNull, elementOid, length }: { hasNull: number; elementOid: number; length: number },
): number {
  let at = buffer.writeInt32BE(1, 0)
  at = buffer.writeInt32BE(hasNull, at)
  at = buffer.writeInt32BE(elementOid, at)
  at = buffer.writeInt32BE(length, at)
  // The lower bound: SQL counts from 1.
  return buffer.writeInt32BE(1, at)
}
