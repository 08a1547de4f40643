import { ViewValueError } from './view-value-error.ts'

/** What a view groups by. */
export type ViewKey = string | number | boolean

const MAX_KEY_CHARS = 500
/** One commit holds all that a document changes. */
const MAX_KEYS = 100

/** The keys that `by` gave, each once. Undefined: the document is not in the view. */
export function viewKeys(
  given: ViewKey | readonly ViewKey[] | null | undefined,
): readonly ViewKey[] | undefined {
  if (given === undefined || given === null) return undefined
  const keys = [...new Set(isList(given) ? given : [given])]
  if (keys.length > MAX_KEYS) {
    throw new ViewValueError(`a document has at most ${MAX_KEYS} keys, by gave ${keys.length}`)
  }
  for (const key of keys) checkKey(key)
  return keys.length === 0 ? undefined : keys
}

/** One text a key: 1 and "1" are two. */
export function viewKeyText(key: ViewKey): string {
  return JSON.stringify(key)
}

/** Id of a key's document in the view: the key itself, where it can be an id. */
export function viewDocumentId(key: ViewKey): string {
  const text = String(key)
  if (/^[^/\\?#\0]{1,200}$/.test(text) && text.trim() === text && text.isWellFormed()) return text
  // The partition key tells documents apart whose ids were cut.
  return encodeURIComponent(text.toWellFormed()).slice(0, 200) || '%'
}

function checkKey(key: unknown): void {
  const isKey =
    typeof key === 'boolean' ||
    (typeof key === 'number' && Number.isFinite(key)) ||
    (typeof key === 'string' && key.length <= MAX_KEY_CHARS)
  if (isKey) return
  throw new ViewValueError(
    `a key must be a text of at most ${MAX_KEY_CHARS} characters, a finite number or a boolean, ` +
      `by gave ${JSON.stringify(key)?.slice(0, 60) ?? typeof key}`,
  )
}

function isList(given: ViewKey | readonly ViewKey[]): given is readonly ViewKey[] {
  return Array.isArray(given)
}
