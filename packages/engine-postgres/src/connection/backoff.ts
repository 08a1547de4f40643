import type { Random } from '@tidemark/contracts'

const FIRST_MS = 20
const LONGEST_MS = 1_000

/**
 * How long to wait before attempt `attempt` (1 is the first repetition). Doubles from 20 ms to 1 s; half of it is
 * random.
 */
export function backoffMs(attempt: number, random: Random): number {
  const whole = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10))
  return whole / 2 + (whole / 2) * random.fraction()
}
