import { createHash } from 'node:crypto'

/** SHA-256 of a text, 43 characters. */
export function textDigest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
