import type { World } from './world.ts'

/** Ms between two changes of one key. */
const EVERY_MS = 2_000
const KEYS = 12

/** For so long each key has a change every 2 s: what each lease costs stays the same. */
export function loadSteadily({ feed, time }: World, forMs: number): void {
  const endMs = time.nowMs + forMs
  for (let index = 0; index < KEYS; index += 1) {
    const key = `key${index}`
    let number = 0
    const append = (): void => {
      if (time.nowMs >= endMs) return
      number += 1
      feed.append([{ key, document: { id: `${key}-steady-${number}` } }])
      time.after(EVERY_MS, append)
    }
    time.after((EVERY_MS * index) / KEYS, append)
  }
}
