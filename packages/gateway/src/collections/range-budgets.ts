import { InvalidOptionError, type Clock, ThrottledError } from '@tidemark/contracts'

/** Names of collections change; their ranges' budgets are small, but not for ever. */
const MAX_BUDGETS = 100_000

interface Budget {
  units: number
  filledAtMs: number
}

/**
 * A request budget for each pkrange, so that retry code can be tried out: a bucket that holds one second's units and
 * fills evenly. A request is let in while the bucket is not empty and then pays what it cost, so that a large one is
 * possible and those after it wait.
 */
export class RangeBudgets {
  readonly #unitsPerSecond: number
  readonly #clock: Clock
  readonly #budgets = new Map<string, Budget>()

  /**
   * @param unitsPerSecond of each range; undefined = nothing is ever refused
   * @throws ERR_INVALID_OPTION
   */
  constructor(unitsPerSecond: number | undefined, clock: Clock) {
    if (unitsPerSecond !== undefined && !(unitsPerSecond > 0)) {
      throw new InvalidOptionError(
        `requestUnitsPerRange must be above 0, got ${String(unitsPerSecond)}`,
      )
    }
    this.#unitsPerSecond = unitsPerSecond ?? Number.POSITIVE_INFINITY
    this.#clock = clock
  }

  /** @throws ERR_THROTTLED */
  admit(range: string): void {
    if (this.#unitsPerSecond === Number.POSITIVE_INFINITY) return
    const { units } = this.#filled(range)
    if (units > 0) return
    const retryAfterMs = Math.max(1, Math.ceil((-units / this.#unitsPerSecond) * 1000))
    throw new ThrottledError(retryAfterMs, `the request budget of range ${range} is spent`)
  }

  spend(range: string, units: number): void {
    if (this.#unitsPerSecond === Number.POSITIVE_INFINITY) return
    this.#filled(range).units -= units
  }

  #filled(range: string): Budget {
    const nowMs = this.#clock.monotonicMs()
    const present = this.#budgets.get(range)
    if (present === undefined) {
      if (this.#budgets.size >= MAX_BUDGETS) this.#budgets.clear()
      const budget = { units: this.#unitsPerSecond, filledAtMs: nowMs }
      this.#budgets.set(range, budget)
      return budget
    }
    const gained = ((nowMs - present.filledAtMs) / 1000) * this.#unitsPerSecond
    present.units = Math.min(this.#unitsPerSecond, present.units + gained)
    present.filledAtMs = nowMs
    return present
  }
}
