import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 15

/** Looks again and again until `condition` holds. Other processes cannot call us back. */
export async function until(
  condition: () => boolean,
  { what, timeoutMs }: { readonly what: string; readonly timeoutMs: number },
): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(POLL_MS)
  }
}
