import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'

/** A key as Node keeps it: a signature by it costs a seventh of one by a text. */
export type SigningKey = KeyObject

export function signingKey(text: string): SigningKey {
  return createSecretKey(Buffer.from(text, 'utf8'))
}

export function hmacSha256(key: SigningKey, text: string): Uint8Array {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}

/** In time that does not tell where they differ. */
export function areEqualBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
