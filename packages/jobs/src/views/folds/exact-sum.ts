import { ViewValueError } from '../view-value-error.ts'

/**
 * A sum of binary floating-point numbers without any rounding: numbers that do not overlap, the smallest first (Shewchuk
 * 1997). So a number that was added can be taken away again, and the order does not matter. A sum of whole numbers below
 * 2^53 has one of them; of any numbers there are at most about forty.
 */
export type ExactSum = readonly number[]

/** @throws ERR_VIEW_VALUE beyond the range of numbers */
export function addExactly(sum: ExactSum, added: number): ExactSum {
  const parts: number[] = []
  let rest = added
  for (const part of sum) {
    const [large, small] = Math.abs(rest) < Math.abs(part) ? [part, rest] : [rest, part]
    const high = large + small
    const low = small - (high - large)
    if (low !== 0) parts.push(low)
    rest = high
  }
  if (!Number.isFinite(rest)) throw new ViewValueError('a sum is beyond the range of numbers')
  if (rest !== 0) parts.push(rest)
  return parts
}

/** The number nearest to the sum. */
export function roundedSum(sum: ExactSum): number {
  let index = sum.length - 1
  let high = sum[index] ?? 0
  let low = 0
  while (low === 0 && index > 0) {
    index -= 1
    const [large, small] = [high, sum[index] ?? 0]
    high = large + small
    low = small - (high - large)
  }
  // Halfway between two numbers, the parts below decide.
  const below = sum[index - 1] ?? 0
  if (low !== 0 && Math.sign(low) === Math.sign(below)) {
    const doubled = low * 2
    const next = high + doubled
    if (next - high === doubled) return next
  }
  return high
}
