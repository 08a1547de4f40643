import { BadRequestError } from '../errors/bad-request-error.ts'

/** A JSON object of which nothing is known. */
export interface JsonRecord {
  readonly [name: string]: unknown
}

/** True for a JSON object, not for an array or null. */
export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Most lists and objects inside one another. JSON.parse takes any number, but comparing such a value or writing it as
 * text again, if only for a message, overflows the stack.
 */
const MAX_JSON_LEVELS = 1_000

/** @throws ERR_BAD_REQUEST */
export function parseJson(text: string): unknown {
  if (text === '') throw new BadRequestError('the request needs a JSON body')
  if (isNestedDeeper(text, MAX_JSON_LEVELS)) {
    throw new BadRequestError(`the body is nested deeper than ${MAX_JSON_LEVELS} levels`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : ''
    throw new BadRequestError(`the body is not JSON: ${why}`, { cause })
  }
  if (MAY_OVERFLOW.test(text) && hasInfinity(value)) {
    throw new BadRequestError(
      'the body has a number beyond what 64 bits of floating point can hold',
    )
  }
  return value
}

/** Without one of these no number of a text is too large: most texts need no second look. */
const MAY_OVERFLOW = /[eE]\+?\d{3}|\d{200}/

/** A number that is too large is infinite after JSON.parse, and would be written as null. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity)
}

/** Of a text that is JSON; of any other the answer means nothing. */
function isNestedDeeper(text: string, levels: number): boolean {
  // Each level takes a character to open and one to close.
  if (text.length <= 2 * levels) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > levels) return true
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--
  }
  return false
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Where the string ends that begins at `from`; the end of the text if it does not. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
  }
  return text.length
}

/** @throws ERR_BAD_REQUEST */
export function parseJsonRecord(text: string): JsonRecord {
  const value = parseJson(text)
  if (!isJsonRecord(value)) throw new BadRequestError('the body must be a JSON object')
  return value
}

/** Headers say `true`, `True` or nothing. */
export function isTrue(header: string | undefined): boolean {
  return header?.toLowerCase() === 'true'
}

/**
 * A header that is a whole number; undefined when it is missing.
 *
 * @throws ERR_BAD_REQUEST
 */
export function wholeNumber(name: string, header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const value = Number(header)
  if (/^-?\d{1,15}$/.test(header) && Number.isSafeInteger(value)) return value
  throw new BadRequestError(`header ${name} must be a whole number, got ${JSON.stringify(header)}`)
}

/**
 * Documents of a page at most; undefined = the gateway's choice.
 *
 * @throws ERR_BAD_REQUEST
 */
export function itemCount(name: string, header: string | undefined): number | undefined {
  const count = wholeNumber(name, header)
  if (count === undefined || count === -1) return undefined
  if (count < 1) throw new BadRequestError(`header ${name} must be -1 or above 0, got ${count}`)
  return count
}
