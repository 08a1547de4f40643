import { systemClock, type Clock, type SleepOptions } from '@tidemark/contracts'
import type { Database } from '@tidemark/store'

/** What brokers ask of an engine, and of time. */
export class Counts {
  calls = 0
  timers = 0

  get sum(): number {
    return this.calls + this.timers
  }
}

/** The same database, whose engine of messages counts each call but that of its clock. */
export function countedDatabase(database: Database, counts: Counts): Database {
  return proxyOf(database, async (key, value) => {
    const result = await value()
    if (key !== 'openMessages') return result
    return proxyOf(result as object, (name, call) => {
      if (name !== 'nowMs') counts.calls++
      return call()
    })
  })
}

/** Methods are called on the target, whose private fields a proxy does not have. */
function proxyOf<Target extends object>(
  target: Target,
  around: (key: PropertyKey, call: () => unknown) => unknown,
): Target {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return (...values: unknown[]): unknown =>
        around(key, () => Reflect.apply(value, target, values))
    },
  })
}

/** The machine's clock, counting its timers. */
export class CountedClock implements Clock {
  readonly #counts: Counts

  constructor(counts: Counts) {
    this.#counts = counts
  }

  wallMs(): number {
    return systemClock.wallMs()
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  sleep(delayMs: number, signal: AbortSignal, options?: SleepOptions): Promise<void> {
    this.#counts.timers++
    return systemClock.sleep(delayMs, signal, options)
  }
}
