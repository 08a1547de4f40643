import type { Clock } from '@tidemark/contracts'
import { isBusy } from './sqlite-error.ts'

const MAX_WAIT_MS = 5000
const MAX_TRIES = 50
const PAUSE_MS = 10

/**
 * For opening files. SQLite waits for locks itself, except where it detects a possible deadlock: when several processes
 * open or close a file at the same instant, it reports "locked" at once.
 */
export async function retryWhileBusy<Result>(clock: Clock, act: () => Result): Promise<Result> {
  const giveUpMs = clock.monotonicMs() + MAX_WAIT_MS
  const { signal } = new AbortController()
  for (let tries = 1; ; tries++) {
    try {
      return act()
    } catch (error) {
      if (!isBusy(error) || tries >= MAX_TRIES || clock.monotonicMs() > giveUpMs) throw error
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}
