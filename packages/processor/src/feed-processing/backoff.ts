/**
 * Wait before the next try: doubles with each failure up to `maxMs`; the upper half of it is random,
 * so that many who failed together do not come back together.
 *
 * @param failures 1 after the first failure
 * @param fraction random number in [0, 1)
 */
export function backoffMs(
  failures: number,
  { baseMs, maxMs, fraction }: { baseMs: number; maxMs: number; fraction: number },
): number {
  const fullMs = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30))
  return fullMs * (0.5 + fraction / 2)
}
