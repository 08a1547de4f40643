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

/** The time of a command. The lock clock never goes back. */
export function messageTime(pair: ClockPair, storeMs: number, caller: CallerTime): MessageTime {
  const passedMs = Math.max(0, storeMs - pair.storeMs)
  const heardMs = caller.lockMs ?? pair.lockMs + passedMs
  return { storeMs, lockMs: Math.max(pair.lockMs, Math.floor(heardMs)) }
}
