import { type Clock, type FeedRange, SessionAheadError } from '@tidemark/contracts'
import type { OpenCollection, RangeRecord } from '@tidemark/store/engine'
import { parseSessionToken, type SessionProgress } from '../protocol/session-token.ts'

/** The longest that a read waits for a state that its session has seen, in ms (CF-15). */
const SESSION_WAIT_MS = 2000

/** Most entries that are kept: ranges come and go. */
const MAX_RANGES = 100_000

/**
 * Holds readers to what their sessions have seen (CF-15). With one primary nothing is ever behind; a state that the
 * store does not have yet is waited for, and one that never comes is a coded error.
 */
export class SessionGuard {
  readonly #clock: Clock
  readonly #waitMs: number
  /** Highest LSN that was seen of each range, so that most tokens need no question to the store. */
  readonly #seen = new Map<string, number>()

  /** `maxWaitMs`: the longest that any request may wait. */
  constructor(clock: Clock, maxWaitMs: number) {
    this.#clock = clock
    this.#waitMs = Math.min(SESSION_WAIT_MS, maxWaitMs)
  }

  /** This gateway has read or written that state itself. */
  saw(open: OpenCollection, range: RangeRecord, lsn: number): void {
    const key = `${open.record.rid}/${range.number}`
    if ((this.#seen.get(key) ?? -1) >= lsn) return
    if (this.#seen.size >= MAX_RANGES) this.#seen.clear()
    this.#seen.set(key, lsn)
  }

  /**
   * `keys`: those of the range that are read; another process may have split the range since it was looked up, and
   * what is read lies in one of its children.
   *
   * @throws ERR_SESSION_AHEAD
   */
  async assertReached(
    open: OpenCollection,
    {
      range,
      keys,
      token,
      signal,
    }: {
      readonly range: RangeRecord
      readonly keys: FeedRange
      readonly token: string
      readonly signal: AbortSignal
    },
  ): Promise<void> {
    const progress = parseSessionToken(token)
    const wanted = highestOf(progress, range)
    if (wanted === 0 || (this.#seen.get(`${open.record.rid}/${range.number}`) ?? -1) >= wanted) {
      return
    }
    const { engine } = open
    const deadlineMs = this.#clock.monotonicMs() + this.#waitMs
    for (;;) {
      const lsn = await newestLsn(open, keys)
      this.saw(open, range, lsn)
      if (lsn >= wanted || (await isOfSiblings(open, progress, { range, lsn }))) return
      const timeoutMs = deadlineMs - this.#clock.monotonicMs()
      if (timeoutMs <= 0) {
        throw new SessionAheadError(
          `the session has seen LSN ${wanted} of range ${range.number}, which is at ${lsn} here`,
        )
      }
      const wait = { collection: open.record, range: keys, afterLsn: lsn, timeoutMs, signal }
      await engine.waitForCommit(wait)
    }
  }
}

/** What a token asks of a range: a parent's state is in its children too. */
function highestOf(progress: SessionProgress, { number, parents }: RangeRecord): number {
  return Math.max(0, ...[number, ...parents].map((id) => progress.get(id) ?? 0))
}

/**
 * Whether all that is ahead of a range is what its siblings have. A gateway that had not heard of a split yet answers
 * a write with the parent's number and the LSN of one of the children, and no other child need ever come to it.
 */
async function isOfSiblings(
  open: OpenCollection,
  progress: SessionProgress,
  { range, lsn }: { readonly range: RangeRecord; readonly lsn: number },
): Promise<boolean> {
  if ((progress.get(range.number) ?? 0) > lsn) return false
  const present = await open.engine.listRanges(open.record)
  for (const parent of range.parents) {
    const wanted = progress.get(parent) ?? 0
    if (wanted <= lsn) continue
    const children = present.filter(({ parents }) => parents.includes(parent))
    const reached = await Promise.all(children.map((child) => newestLsn(open, child)))
    if (Math.max(0, ...reached) < wanted) return false
  }
  return true
}

async function newestLsn({ engine, record }: OpenCollection, range: FeedRange): Promise<number> {
  const { lsn } = await engine.resolveStart({
    collection: record,
    range,
    start: { kind: 'now' },
    mode: 'latestVersion',
  })
  return lsn
}
