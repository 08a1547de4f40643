import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 15

/** Only ends what hangs, as the limits in vitest.config.ts do. */
const PATIENCE_MS = 120_000

/** Looks again and again until `condition` holds. Other processes cannot call us back. */
export async function until(
  condition: () => boolean,
  {
    what,
    timeoutMs = PATIENCE_MS,
  }: { readonly what: string; readonly timeoutMs?: number | undefined },
): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(POLL_MS)
  }
}
