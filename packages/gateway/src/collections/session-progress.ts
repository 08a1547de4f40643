import type { Clock } from '@tidemark/contracts'
import type { OpenCollection, RangeRecord } from '@tidemark/store'
import { SessionAheadError } from '../errors/session-ahead-error.ts'
import { parseSessionToken } from '../protocol/session-token.ts'

/** How long a read waits for a state that its session has seen, in ms (CF-15). */
const SESSION_WAIT_MS = 2000

/** Beyond this what was seen is asked for anew: ranges come and go. */
const MAX_RANGES = 100_000

/**
 * Holds readers to what their sessions have seen (CF-15). With one primary nothing is ever behind; a state that the
 * store does not have yet is waited for, and one that never comes is a coded error.
 */
export class SessionGuard {
  readonly #clock: Clock
  /** Highest LSN that was seen of each range, so that most tokens need no question to the store. */
  readonly #seen = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** This gateway has read or written that state itself. */
  saw(open: OpenCollection, range: RangeRecord, lsn: number): void {
    const key = `${open.record.rid}/${range.number}`
    if ((this.#seen.get(key) ?? -1) >= lsn) return
    if (this.#seen.size >= MAX_RANGES) this.#seen.clear()
    this.#seen.set(key, lsn)
  }

  /** @throws ERR_SESSION_AHEAD */
  async assertReached(
    open: OpenCollection,
    { range, token, signal }: { range: RangeRecord; token: string; signal: AbortSignal },
  ): Promise<void> {
    const wanted = highestOf(token, range)
    if (wanted === 0 || (this.#seen.get(`${open.record.rid}/${range.number}`) ?? -1) >= wanted) {
      return
    }
    const { engine, record: collection } = open
    const deadlineMs = this.#clock.monotonicMs() + SESSION_WAIT_MS
    for (;;) {
      const start = { kind: 'now' } as const
      const mode = 'latestVersion'
      const { lsn } = await engine.resolveStart({ collection, range, start, mode })
      this.saw(open, range, lsn)
      if (lsn >= wanted) return
      const timeoutMs = deadlineMs - this.#clock.monotonicMs()
      if (timeoutMs <= 0) {
        throw new SessionAheadError(
          `the session has seen LSN ${wanted} of range ${range.number}, which is at ${lsn} here`,
        )
      }
      await engine.waitForCommit({ collection, range, afterLsn: lsn, timeoutMs, signal })
    }
  }
}

/** What a token asks of a range: a parent's state is in its children too. */
function highestOf(token: string, { number, parents }: RangeRecord): number {
  const progress = parseSessionToken(token)
  return Math.max(0, ...[number, ...parents].map((id) => progress.get(id) ?? 0))
}
