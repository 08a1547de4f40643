import { ViewValueError } from '../view-value-error.ts'
import type { RankedFold, Score } from './fold.ts'

/** So that ids with a code in front stay within what a store takes. */
const MAX_TEXT_BYTES = 60

/** A text of hex digits that sorts as scores do, the first one first. */
export function orderCode(score: Score, first: RankedFold['first']): string {
  const code = typeof score === 'number' ? numberCode(score) : textCode(score)
  if (first === 'lowest') return code
  let inverted = ''
  for (const digit of code) inverted += (15 - Number.parseInt(digit, 16)).toString(16)
  return inverted
}

function numberCode(score: number): string {
  if (!Number.isFinite(score)) throw new ViewValueError(`a score must be finite, got ${score}`)
  const bytes = new DataView(new ArrayBuffer(8))
  // -0 is 0.
  bytes.setFloat64(0, score + 0)
  let [high, low] = [bytes.getUint32(0), bytes.getUint32(4)]
  if (high >= 0x8000_0000) [high, low] = [~high, ~low]
  else high += 0x8000_0000
  return `1${hex(high)}${hex(low)}`
}

function textCode(score: unknown): string {
  if (typeof score !== 'string') {
    throw new ViewValueError(`a score must be a number or a text, got ${JSON.stringify(score)}`)
  }
  const bytes = new TextEncoder().encode(score)
  if (bytes.length <= MAX_TEXT_BYTES) {
    return `2${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}00`
  }
  throw new ViewValueError(
    `a score must have at most ${MAX_TEXT_BYTES} bytes, got ${bytes.length}: ${score.slice(0, 40)}…`,
  )
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0')
}
