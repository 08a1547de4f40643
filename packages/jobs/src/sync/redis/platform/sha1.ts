import { createHash } from 'node:crypto'

/** 40 hexadecimal digits, by which Redis names a script. */
export function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}
