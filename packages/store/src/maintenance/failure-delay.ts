const FIRST_MS = 1000
const LONGEST_MS = 60_000

/**
 * Wait before work that failed is tried again: doubles with each failure; the upper half of it is
 * random, so that processes which failed together do not come back together.
 *
 * @param failures 1 after the first failure
 * @param fraction random number in [0, 1)
 */
export function failureDelayMs(failures: number, fraction: number): number {
  const fullMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  return Math.round(fullMs * (0.5 + fraction / 2))
}
