import type { Clock } from '@tidemark/contracts'
import type { WaitPlace } from '@tidemark/store/engine'
import { openSegment, readNewestLsns } from '../reader/read-counters.ts'
import type { ReadContext } from '../reader/read-context.ts'

export interface ReplicaLagOptions {
  readonly context: ReadContext
  readonly clock: Clock
  readonly maxReplicaLagMs: number
}

/** Minimum time between two questions to the primary. */
const LOOK_INTERVAL_MS = 1_000

/**
 * Detects a follower that does not follow any more: it is cut off from its primary, or on a history that a fail-over
 * ended. It answers as before but has nothing new, so readers would wait forever. When it lacks data for too long that
 * the primary has and a reader waits for, it is not used for a while, and the primary answers instead.
 */
export class ReplicaLag {
  readonly #options: ReplicaLagOptions
  /** By segment: the LSN that the follower must reach, and since when that is known. */
  readonly #missing = new Map<number, { readonly lsn: number; readonly sinceMs: number }>()
  #nextLookMs = 0
  #looking: Promise<void> | undefined

  constructor(options: ReplicaLagOptions) {
    this.#options = options
  }

  /** Checks in the background, if it is time to. */
  look(places: readonly WaitPlace[]): void {
    const { context, clock, maxReplicaLagMs } = this.#options
    const nowMs = clock.monotonicMs()
    if (!context.hasReplica || this.#looking !== undefined || nowMs < this.#nextLookMs) return
    // Then the primary answers instead, which shows nothing about the follower.
    if (context.connections.replicaRests) return
    this.#nextLookMs = nowMs + Math.min(LOOK_INTERVAL_MS, maxReplicaLagMs / 4)
    this.#looking = this.#look(places).finally(() => (this.#looking = undefined))
  }

  /** Resolves when nothing runs any more. */
  async end(): Promise<void> {
    await this.#looking
  }

  /** Never rejects. */
  async #look(places: readonly WaitPlace[]): Promise<void> {
    const { context, clock, maxReplicaLagMs } = this.#options
    const segments = new Set(
      places.map((place) => openSegment(context, place)).filter((id) => id !== undefined),
    )
    try {
      const there = await readNewestLsns(context, segments, { from: 'replica' })
      if (context.connections.replicaRests) return
      const nowMs = clock.monotonicMs()
      for (const [segment, { lsn }] of this.#missing) {
        const isGone = !segments.has(segment)
        if (isGone || (there.get(segment) ?? -1) >= lsn) this.#missing.delete(segment)
      }
      const isStale = [...this.#missing.values()].some(
        ({ sinceMs }) => nowMs - sinceMs >= maxReplicaLagMs,
      )
      if (isStale) {
        context.connections.restReplica()
        this.#nextLookMs = 0
        return
      }
      for (const [segment, lsn] of await readNewestLsns(context, segments, { from: 'primary' })) {
        const isMissing = lsn > (there.get(segment) ?? -1)
        if (isMissing && !this.#missing.has(segment)) {
          this.#missing.set(segment, { lsn, sinceMs: nowMs })
        }
      }
    } catch {
      // The servers cannot be asked now.
    }
  }
}
