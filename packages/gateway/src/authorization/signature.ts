import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

/** What a master-key signature covers. */
export interface SignedRequest {
  readonly method: string
  readonly resourceType: string
  readonly resourceLink: string
  /** `x-ms-date`; empty when only `date` was sent. */
  readonly msDate: string
  /** `date`, which counts only without `x-ms-date`. */
  readonly date: string
}

/** The text that is signed; documented with the REST API ("Access control"). */
export function signedText({
  method,
  resourceType,
  resourceLink,
  msDate,
  date,
}: SignedRequest): string {
  const counted = msDate === '' ? date.toLowerCase() : ''
  return `${method.toLowerCase()}\n${resourceType.toLowerCase()}\n${resourceLink}\n${msDate.toLowerCase()}\n${counted}\n`
}

/** The signature of a text. */
export function signature(text: string, key: KeyObject | Uint8Array): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}

/** Whether two signatures are equal, in time that does not tell where they differ. */
export function signaturesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** What an authorization header says. */
export interface AuthorizationToken {
  readonly type: string
  readonly version: string
  readonly signature: string
}

/** Reads `type=…&ver=…&sig=…`, percent-encoded as a whole; undefined when it is nothing like that. */
export function parseAuthorization(header: string): AuthorizationToken | undefined {
  let text: string
  try {
    text = decodeURIComponent(header)
  } catch {
    return undefined
  }
  // Not URLSearchParams, which would turn each plus of a base64 text into a space.
  const match = /^type=([^&]*)&ver=([^&]*)&sig=(.*)$/s.exec(text)
  const [, type, version, sig] = match ?? []
  if (type === undefined || version === undefined || sig === undefined) return undefined
  return { type, version, signature: sig }
}
