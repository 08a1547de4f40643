import { InvalidDocumentError, InvalidOptionError } from '@tidemark/contracts'

const MAX_CHARS = 255
const RESERVED = /[/\\#\0]/

/**
 * Checks the id of a document: 1 to 255 characters (so at most 765 of the 1,023 bytes that the wire allows), none of `/
 * \ #`. Beyond the wire's rules, it refuses NUL and half of a surrogate pair, because not every engine can store them.
 *
 * @throws ERR_INVALID_DOCUMENT
 */
export function checkedDocumentId(id: unknown): string {
  if (typeof id !== 'string') {
    throw new InvalidDocumentError(`a document needs an "id" that is a string, got ${typeof id}`)
  }
  const problem = idProblem(id)
  if (problem !== undefined) {
    throw new InvalidDocumentError(`document id ${shown(id)} ${problem}`)
  }
  return id
}

/**
 * Checks the id of a document that is written: also that it is none of the names that clients take out of a URL, so that
 * nobody could read it over HTTP.
 *
 * @throws ERR_INVALID_DOCUMENT
 */
export function checkedNewDocumentId(id: unknown): string {
  const checked = checkedDocumentId(id)
  if (!isDots(checked)) return checked
  throw new InvalidDocumentError(`document id ${shown(checked)} ${DOTS}`)
}

/**
 * Checks the id of a database or collection: the rules of new document ids, and also no `?` and no space at the end.
 *
 * @throws ERR_INVALID_OPTION
 */
export function checkedResourceId(kind: 'database' | 'collection', id: unknown): string {
  if (typeof id !== 'string') {
    throw new InvalidOptionError(`${kind} id must be a string, got ${typeof id}`)
  }
  const problem =
    idProblem(id) ??
    (isDots(id) ? DOTS : undefined) ??
    (id.includes('?') ? 'must not contain ?' : undefined) ??
    (id.endsWith(' ') ? 'must not end with a space' : undefined)
  if (problem !== undefined) throw new InvalidOptionError(`${kind} id ${shown(id)} ${problem}`)
  return id
}

function idProblem(id: string): string | undefined {
  if (id.length === 0) return 'must not be empty'
  if (id.length > MAX_CHARS) return `has ${id.length} characters, at most ${MAX_CHARS} are allowed`
  if (RESERVED.test(id)) return 'must not contain / \\ # or NUL'
  if (!id.isWellFormed()) return 'contains half of a surrogate pair'
  return undefined
}

const DOTS = 'must not be . or ..: in a URL these name a folder'

function isDots(id: string): boolean {
  return id === '.' || id === '..'
}

function shown(id: string): string {
  return JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id)
}
