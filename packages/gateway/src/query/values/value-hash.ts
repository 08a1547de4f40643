import { murmur3x64 } from '@tidemark/contracts'
import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { MAX_VALUE_DEPTH } from '../limits.ts'

const encoder = new TextEncoder()

/** 128 bits as 32 hex digits; equal exactly for values that are equal (with the certainty of a hash). */
export function valueHash(value: Json): string {
  return textHash(canonicalText(value, 0))
}

/** 128 bits as 32 hex digits. */
export function textHash(text: string): string {
  return [...murmur3x64(encoder.encode(text))]
    .map((word) => word.toString(16).padStart(8, '0'))
    .join('')
}

/** JSON with the properties in order, so that equal values have equal texts. Undefined is told from null. */
function canonicalText(value: Json, depth: number): string {
  if (depth > MAX_VALUE_DEPTH)
    throw new BadQueryError('a value is nested too deeply to be compared')
  if (isJsonArray(value)) {
    return `[${value.map((item) => canonicalText(item, depth + 1)).join(',')}]`
  }
  if (isJsonObject(value)) {
    const properties = Object.keys(value)
      .filter((name) => value[name] !== undefined)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name], depth + 1)}`)
    return `{${properties.join(',')}}`
  }
  return value === undefined ? 'undefined' : JSON.stringify(value)
}
