import type { HostIdentity, ObservedClock, SyncReply } from '@tidemark/contracts'
import type { LeaseCoreOptions } from './lease-protocol.ts'

/**
 * - `new`: not started.
 * - `joining`: no session yet; a join is being tried.
 * - `joined`: valid until the deadline.
 * - `fenced`: over; whether the name is somebody else's now has to be found out.
 * - `ended`: left, or stopped for good.
 */
export type SessionStatus = 'new' | 'joining' | 'joined' | 'fenced' | 'ended'

/** Added to the earliest deadline of another host, so that it has passed by the store's clock too. */
const DEADLINE_SLACK_MS = 20
/** Beats are at least this far apart, whatever deadlines the store reports. */
const MIN_BEAT_GAP_MS = 50
/** Every so many beats carry the digest (decision 0023). */
const BEATS_PER_DIGEST = 10

/** One host's session by its own clock: when it beats, and until when it may be relied on. */
export class HostSessionState {
  readonly #options: LeaseCoreOptions
  /** Safety distance between the host's deadline and the store's. */
  readonly marginMs: number
  status: SessionStatus = 'new'
  #life = 0
  #deadlineMs = 0
  #nextBeatMs = 0
  #beats = 0
  /** After a stall nothing is dispatched before a beat that was sent later has succeeded. */
  #heldSinceMs: number | undefined
  #seen: { readonly clockMs: number; readonly storeMs: number; readonly atMs: number } | undefined
  generation: string | undefined

  constructor(options: LeaseCoreOptions) {
    this.#options = options
    this.generation = options.generation
    this.marginMs = Math.max(options.ttlMs * 0.1, Math.min(200, options.ttlMs / 4))
  }

  get identity(): HostIdentity {
    const { host, incarnation } = this.#options
    return { host, incarnation: this.#life === 0 ? incarnation : `${incarnation}.${this.#life}` }
  }

  /** Whether it is this process's, in this life or an earlier one. */
  isOwn(incarnation: string): boolean {
    return processOf(incarnation) === processOf(this.#options.incarnation)
  }

  get deadlineMs(): number {
    return this.#deadlineMs
  }

  get nextBeatMs(): number {
    return this.#nextBeatMs
  }

  get isHeld(): boolean {
    return this.#heldSinceMs !== undefined
  }

  /** Whether this beat is one that carries the digest. */
  get digestIsDue(): boolean {
    return this.#beats >= BEATS_PER_DIGEST - 1
  }

  isValid(nowMs: number): boolean {
    return this.status === 'joined' && nowMs < this.#deadlineMs
  }

  /** A beat goes out: its answer counts from now. */
  beatSent({ withDigest }: { withDigest: boolean }): void {
    this.#beats = withDigest ? 0 : this.#beats + 1
  }

  /** A join or beat that was sent at `sentMs` succeeded. */
  renewed(
    { clockMs, storeMs, nextDeadlineInMs }: Extract<SyncReply, { kind: 'ok' }>,
    { sentMs, nowMs }: { sentMs: number; nowMs: number },
  ): void {
    const { ttlMs, heartbeatMs } = this.#options
    this.#seen = { clockMs, storeMs, atMs: nowMs }
    this.#deadlineMs = Math.max(this.#deadlineMs, sentMs + ttlMs - this.marginMs)
    this.#nextBeatMs = sentMs + heartbeatMs
    if (nextDeadlineInMs !== undefined) {
      const othersMs = nowMs + Math.max(nextDeadlineInMs + DEADLINE_SLACK_MS, MIN_BEAT_GAP_MS)
      this.#nextBeatMs = Math.min(this.#nextBeatMs, othersMs)
    }
    if (this.#heldSinceMs === undefined) return
    if (sentMs >= this.#heldSinceMs) this.#heldSinceMs = undefined
    else this.hurry(nowMs)
  }

  /** The store's clocks as the last answer had them, and how long ago it came. */
  observedAt(nowMs: number): ObservedClock | undefined {
    if (this.#seen === undefined) return undefined
    const { clockMs, storeMs, atMs } = this.#seen
    return { clockMs, storeMs, elapsedMs: Math.floor(nowMs - atMs) }
  }

  /** Beat as soon as possible. */
  hurry(nowMs: number): void {
    this.#nextBeatMs = Math.min(this.#nextBeatMs, nowMs)
  }

  /** The event loop, or the machine, stood still: see what became of the session first. */
  hold(nowMs: number): void {
    this.#heldSinceMs = nowMs
    this.hurry(nowMs)
  }

  /** A new life: joins under a new incarnation. */
  rejoin(): void {
    this.#life += 1
    this.status = 'joining'
    this.#deadlineMs = 0
    this.#nextBeatMs = 0
    this.#beats = 0
    this.#heldSinceMs = undefined
  }
}

/** Incarnations of one process have what is before the first dot in common. */
function processOf(incarnation: string): string {
  const [process = incarnation] = incarnation.split('.', 1)
  return process
}
