import { isJsonArray, type Json } from '../json.ts'

const LONGEST = 40

/** A value for a message: short, however long or deep it is. */
export function shown(value: Json): string {
  if (typeof value === 'object' && value !== null)
    return isJsonArray(value) ? 'an array' : 'an object'
  if (typeof value !== 'string') return String(value)
  const text = JSON.stringify(value.slice(0, LONGEST))
  return value.length > LONGEST ? `${text}…` : text
}
