import { createHmac, timingSafeEqual } from 'node:crypto'

/** HMAC-SHA256 of a text, in base64. */
export function hmacSha256(secret: Uint8Array, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64')
}

export function bytesOfBase64(text: string): Uint8Array {
  return Buffer.from(text, 'base64')
}

/** Takes as long wherever they differ. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
