import { BadRequestError } from '../errors/bad-request-error.ts'

/** A JSON object of which nothing is known. */
export interface JsonRecord {
  readonly [name: string]: unknown
}

/** True for a JSON object, not for an array or null. */
export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @throws ERR_BAD_REQUEST */
export function parseJson(text: string): unknown {
  if (text === '') throw new BadRequestError('the request needs a JSON body')
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : ''
    throw new BadRequestError(`the body is not JSON: ${why}`, { cause })
  }
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
