import { InvalidDocumentError } from '../errors/invalid-document-error.ts'
import { isJsonRecord, type JsonRecord } from './json-record.ts'

/** @throws ERR_INVALID_DOCUMENT for what JSON cannot carry */
export function jsonText(value: unknown): string {
  try {
    // Undefined for what has no JSON at all.
    const text: string | undefined = JSON.stringify(value)
    if (text !== undefined) return text
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InvalidDocumentError(`the document cannot be written as JSON: ${why}`, { cause })
  }
  throw new InvalidDocumentError('the document cannot be written as JSON')
}

/**
 * Most lists and objects inside one another. JSON.parse takes any number, but comparing such a value or writing it as
 * text again, if only for a message, overflows the stack.
 */
export const MAX_JSON_LEVELS = 1_000

/** A document as it will arrive. */
export interface DocumentText {
  readonly text: string
  /** What the text says. */
  readonly parsed: JsonRecord
}

/** @throws ERR_INVALID_DOCUMENT for what is no JSON object */
export function documentText(document: unknown): DocumentText {
  const text = jsonText(document)
  const value: unknown = JSON.parse(text)
  if (isJsonRecord(value)) return { text, parsed: value }
  throw new InvalidDocumentError(`a document is a JSON object, got ${text.slice(0, 60)}`)
}

/**
 * An id that a path can carry: not `.` or `..` either, which `fetch` takes for steps in the path.
 *
 * @throws ERR_INVALID_DOCUMENT
 */
export function idOnPath(id: unknown): string {
  if (typeof id === 'string' && id.length >= 1 && id.length <= 255 && id.isWellFormed()) {
    if (!/[/\\#]/.test(id) && !id.includes('\0') && id !== '.' && id !== '..') return id
  }
  throw new InvalidDocumentError(
    `a document's id has 1 to 255 characters, none of them / \\ # or NUL, and over HTTP is not "." or "..", ` +
      `got ${JSON.stringify(id)}`,
  )
}
