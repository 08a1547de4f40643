/** The longest pause, unless a session is longer. */
const LONGEST_MS = 60_000
/** So many pauses after its end the next one is a first one again. */
const FORGOTTEN_AFTER = 4

interface FencePause {
  readonly forMs: number
  readonly untilMs: number
}

/**
 * For how long leases stand still that a sink refused, before they are given back: for the time of a session first, and
 * twice as long each time that it happens again soon. Where two stores give epochs for one sink, as when one of them has split in two,
 * the newest would be refused next, and so on: the one that is cut off has to stop writing before that.
 */
export class FencePauses {
  readonly #ttlMs: number
  readonly #pauses = new Map<string, FencePause>()

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs
  }

  /** A sink has refused this lease. Returns when it is given back. */
  begin(leaseId: string, nowMs: number): number {
    for (const [id, pause] of this.#pauses) if (isForgotten(pause, nowMs)) this.#pauses.delete(id)
    const before = this.#pauses.get(leaseId)
    const longestMs = Math.max(LONGEST_MS, this.#ttlMs)
    const forMs = before === undefined ? this.#ttlMs : Math.min(longestMs, 2 * before.forMs)
    const pause = { forMs, untilMs: nowMs + forMs }
    this.#pauses.set(leaseId, pause)
    return pause.untilMs
  }
}

function isForgotten({ forMs, untilMs }: FencePause, nowMs: number): boolean {
  return nowMs >= untilMs + FORGOTTEN_AFTER * forMs
}
