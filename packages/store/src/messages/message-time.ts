/**
 * Two clocks, epoch ms both. `storeMs` is the store's clock: enqueued times, expiry, schedules. `lockMs` is the lock
 * clock, for ends of locks and idle timers: it goes on with the time that running brokers saw pass, whatever happens to
 * the clock of the machine, and takes the store's word only for the time in which no broker ran.
 */
export interface MessageTime {
  readonly storeMs: number
  readonly lockMs: number
}

/**
 * What a broker knows of the lock clock: what it last heard, plus what has passed since by its monotonic clock.
 * Undefined before the first answer.
 */
export interface CallerTime {
  readonly lockMs: number | undefined
}

/** Where the two clocks stood when a broker last stored them, about once a second. */
export interface ClockPair {
  readonly storeMs: number
  readonly lockMs: number
}

/** The store's clock is right about the time since it was last stored, if a broker disagrees by no more than this. */
const MAX_CORRECTION_MS = 1000

/**
 * The time of a command. The lock clock never goes back.
 *
 * A broker hears late how far the lock clock is, so what it knows lags behind. A lock that it takes would end early for the
 * others. The store's clock, which all share, corrects it, unless it has jumped.
 */
export function messageTime(pair: ClockPair, storeMs: number, caller: CallerTime): MessageTime {
  const saidMs = pair.lockMs + Math.max(0, storeMs - pair.storeMs)
  const knownMs = Math.max(pair.lockMs, Math.floor(caller.lockMs ?? saidMs))
  const lagMs = saidMs - knownMs
  return { storeMs, lockMs: lagMs > 0 && lagMs <= MAX_CORRECTION_MS ? saidMs : knownMs }
}
