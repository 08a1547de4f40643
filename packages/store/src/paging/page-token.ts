import { InvalidContinuationError } from '@tidemark/contracts'
import { murmur3x86 } from '@tidemark/contracts/internal'

/*
 * Continuation of a list that is read in pages (not of a change feed):
 * <list>1;<rid>;<scope>;<position>;<checksum>, scope and position as base64url.
 */

/** The owner of a page token: the token fits only the same list of the same collection with the same scope. */
export interface PageTokenOwner {
  /** `td` = documents, `tp` = pkranges. */
  readonly list: 'td' | 'tp'
  readonly rid: string
  /** The requested range or partition key value, as text. */
  readonly scope: string
  /** Whether a token of another scope fits, too. @default none does */
  readonly takesScope?: ((scope: string) => boolean) | undefined
}

export function encodePageToken(owner: PageTokenOwner, position: readonly string[]): string {
  const text = [
    `${owner.list}1`,
    owner.rid,
    Buffer.from(owner.scope).toString('base64url'),
    Buffer.from(JSON.stringify(position)).toString('base64url'),
  ].join(';')
  return `${text};${checksum(text)}`
}

/**
 * The position of a page token, which must have `parts` entries.
 *
 * @throws ERR_INVALID_CONTINUATION naming what does not fit
 */
export function decodePageToken(
  token: string,
  owner: PageTokenOwner,
  parts: number,
): readonly string[] {
  const [format = '', rid = '', scope = '', position = '', sum, ...rest] = String(token).split(';')
  if (!/^t[dp]\d+$/.test(format) || sum === undefined || rest.length > 0) {
    throw invalid(token, 'it is malformed')
  }
  if (sum !== checksum([format, rid, scope, position].join(';'))) {
    throw invalid(token, 'its checksum is wrong; it was cut off or altered')
  }
  if (!format.startsWith(owner.list)) throw invalid(token, 'it is of another kind of list')
  if (format !== `${owner.list}1`) throw invalid(token, `this version does not read ${format}`)
  if (rid !== owner.rid) throw invalid(token, `it is of collection ${rid}, not of ${owner.rid}`)
  const asked = Buffer.from(scope, 'base64url').toString()
  if (asked !== owner.scope && owner.takesScope?.(asked) !== true) {
    throw invalid(token, 'it is of another range or partition key value')
  }
  return positionParts(token, position, parts)
}

function positionParts(token: string, encoded: string, parts: number): readonly string[] {
  let position: unknown
  try {
    position = JSON.parse(Buffer.from(encoded, 'base64url').toString())
  } catch (cause) {
    throw invalid(token, 'its position cannot be read', { cause })
  }
  if (!isTexts(position) || position.length !== parts) {
    throw invalid(token, 'its position cannot be read')
  }
  return position
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((part) => typeof part === 'string')
}

function invalid(token: string, why: string, options?: ErrorOptions): InvalidContinuationError {
  const shown = token.length > 60 ? `${token.slice(0, 60)}…` : token
  return new InvalidContinuationError(`continuation ${JSON.stringify(shown)}: ${why}`, options)
}

function checksum(text: string): string {
  return murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')
}
