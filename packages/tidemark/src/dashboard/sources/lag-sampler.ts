import type { Clock } from '@tidemark/contracts'
import { ChangeFeedEstimator, type FeedEstimate } from '@tidemark/processor'
import type { GroupRef, LagSample } from '../views.ts'
import type { Groups } from './groups.ts'

/** Samples of a group that are kept. */
const MOST_SAMPLES = 300
const WORST_LEASES = 12
/** Groups whose samples are kept; also the most that are sampled. */
const MOST_GROUPS = 200
/** Rows that all counts of one estimate read together, and of one range at most and at least. */
const COUNTED = { total: 100_000, most: 10_000, least: 1_000 }
/** Sampling takes at most one part in so many of the time. */
const REST = 9
/** Of one estimate: a store that hangs does not stop the others. */
const LIMIT_MS = 5_000

interface Sampled {
  readonly ref: GroupRef
  holders: number
  count: number
  samples: readonly LagSample[]
  latest: FeedEstimate | undefined
  estimator: { readonly identity: string; readonly estimator: ChangeFeedEstimator } | undefined
  first: PromiseWithResolvers<void>
}

/** What is known of the lag of a group. */
export interface SampledLag {
  readonly latest: FeedEstimate | undefined
  readonly samples: readonly LagSample[]
}

/**
 * Measures the lag of the groups that somebody looks at, one after another, for all who look: once every `sampleMs`, or less
 * often if that is more than a tenth of the time. Nobody looks: it does nothing.
 */
export class LagSampler {
  readonly sampleMs: number
  readonly #groups: Groups
  readonly #clock: Clock
  readonly #sampled = new Map<string, Sampled>()
  #ended = new AbortController()
  #woken = new AbortController()
  #loop: Promise<void> | undefined

  constructor({ groups, clock, sampleMs }: { groups: Groups; clock: Clock; sampleMs: number }) {
    this.#groups = groups
    this.#clock = clock
    this.sampleMs = sampleMs
  }

  /** Samples this group until the returned function is called. */
  hold(ref: GroupRef): () => void {
    const one = this.#sampledOf(ref)
    one.holders += 1
    if (one.holders === 1) {
      // What was measured for whoever looked before is old.
      one.latest = undefined
      one.first = Promise.withResolvers()
      this.#wake()
    }
    let isHeld = true
    return () => {
      if (isHeld) one.holders -= 1
      isHeld = false
      // It holds nothing that would be lost: closing it only frees a connection.
      if (one.holders === 0) this.#rest(one).catch(() => {})
    }
  }

  lagOf(ref: GroupRef): SampledLag {
    return this.#sampled.get(keyOf(ref)) ?? { latest: undefined, samples: [] }
  }

  /** Resolves when the group, which is held, has been measured once, or could not be; after a second anyway. */
  async untilMeasured(ref: GroupRef): Promise<void> {
    const one = this.#sampledOf(ref)
    const waiting = new AbortController()
    const signal = AbortSignal.any([waiting.signal, this.#ended.signal])
    const late = this.#clock.sleep(1_000, signal).catch(() => {})
    await Promise.race([one.first.promise, late])
    waiting.abort()
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.#loop
    // One whose store is away cannot be closed better.
    await Promise.allSettled([...this.#sampled.values()].map((one) => this.#rest(one)))
  }

  #sampledOf(ref: GroupRef): Sampled {
    const key = keyOf(ref)
    const known = this.#sampled.get(key)
    if (known !== undefined) return known
    const first = Promise.withResolvers<void>()
    const fresh = {
      ref,
      holders: 0,
      count: 0,
      samples: [],
      latest: undefined,
      estimator: undefined,
    }
    const made: Sampled = { ...fresh, first }
    this.#sampled.set(key, made)
    if (this.#sampled.size > MOST_GROUPS) this.#forgetOne()
    return made
  }

  #forgetOne(): void {
    for (const [key, { holders }] of this.#sampled) {
      if (holders > 0) continue
      this.#sampled.delete(key)
      return
    }
  }

  #wake(): void {
    this.#woken.abort()
    this.#loop ??= this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const held = [...this.#sampled.values()].filter(({ holders }) => holders > 0)
      if (held.length === 0) {
        // At once, so that the next holder begins another loop.
        this.#loop = undefined
        return
      }
      this.#woken = new AbortController()
      const startMs = this.#clock.monotonicMs()
      for (const one of held.slice(0, MOST_GROUPS)) await this.#sample(one)
      const tookMs = this.#clock.monotonicMs() - startMs
      const signal = AbortSignal.any([this.#ended.signal, this.#woken.signal])
      const pauseMs = Math.max(this.sampleMs - tookMs, REST * tookMs)
      await this.#clock.sleep(pauseMs, signal, { purpose: 'background' }).catch(() => {})
    }
  }

  async #sample(one: Sampled): Promise<void> {
    try {
      const estimate = await this.#estimate(one)
      if (estimate !== undefined) {
        one.latest = estimate
        one.count += 1
        one.samples = [...one.samples, sampleOf(estimate, one.count)].slice(-MOST_SAMPLES)
      }
    } catch {
      // Whoever reads the group is told why; a sample is missing.
      one.latest = undefined
    }
    one.first.resolve()
  }

  async #estimate(one: Sampled): Promise<FeedEstimate | undefined> {
    const { leases, followed } = await this.#groups.read(one.ref)
    if (followed === undefined) return undefined
    const { collection } = followed
    if (one.estimator?.identity !== collection.identity) {
      await this.#rest(one)
      const options = { feed: collection, leases, group: one.ref.group, clock: this.#clock }
      one.estimator = { identity: collection.identity, estimator: new ChangeFeedEstimator(options) }
    }
    const { total, most, least } = COUNTED
    const ranges = one.latest?.leases.length ?? COUNTED.total
    const limit = Math.round(Math.min(most, Math.max(least, total / Math.max(1, ranges))))
    const ended = new AbortController()
    const signal = AbortSignal.any([ended.signal, this.#ended.signal])
    const late = this.#clock.sleep(LIMIT_MS, signal, { purpose: 'background' }).then(
      () => ended.abort(new Error('the estimate takes too long')),
      () => {},
    )
    try {
      return await one.estimator.estimator.estimate({ limit, signal })
    } finally {
      ended.abort()
      await late
    }
  }

  async #rest(one: Sampled): Promise<void> {
    const { estimator } = one
    one.estimator = undefined
    await estimator?.estimator[Symbol.asyncDispose]()
  }
}

function keyOf({ leases, group }: GroupRef): string {
  return JSON.stringify([leases, group])
}

function sampleOf(estimate: FeedEstimate, count: number): LagSample {
  const { atMs, leases, remainingChanges, oldestChangeAgeMs } = estimate
  const behind = leases.filter((lease) => lease.remainingChanges > 0)
  const worst = behind.toSorted((one, other) => other.remainingChanges - one.remainingChanges)
  return {
    id: String(count),
    atMs,
    changes: remainingChanges,
    ageMs: oldestChangeAgeMs ?? null,
    leases: worst.slice(0, WORST_LEASES).map((one) => [one.leaseId, one.remainingChanges] as const),
  }
}
