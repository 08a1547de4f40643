const FIRST_MS = 1000
const LONGEST_MS = 60_000

/**
 * The wait before failed work is tried again. It doubles with each failure. Its upper half is random, so that processes
 * that failed together do not retry together.
 *
 * @param failures 1 after the first failure
 * @param fraction random number in [0, 1)
 */
export function failureDelayMs(failures: number, fraction: number): number {
  const fullMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  return Math.round(fullMs * (0.5 + fraction / 2))
}
