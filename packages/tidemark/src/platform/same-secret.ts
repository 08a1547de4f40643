import { createHash, timingSafeEqual } from 'node:crypto'

/** Whether two texts are equal, in a time that does not tell how much of them is. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
