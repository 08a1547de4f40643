import {
  HostStoppedError,
  NotCaughtUpError,
  feedRangeId,
  type DocumentBody,
  type FeedRange,
} from '@tidemark/contracts'
import { CatchUp } from '../estimation/catch-up.ts'
import { ChangeFeedEstimator, type CatchUpOptions } from '../estimation/change-feed-estimator.ts'
import type { LeaseEstimate } from '../estimation/feed-estimate.ts'
import type { RegisteredObserver } from '../observers/observer-factory.ts'
import type { HostEventListener, HostEventName } from './host-events.ts'
import type { HostHealth } from './host-health.ts'
import type { ResolvedHostOptions } from './resolve-host-options.ts'

/** What one host did of it. */
export interface CaughtUpRun {
  /** Changes that its observers accepted, those of after the call included. */
  readonly changes: number
  readonly batches: number
  /** Changes that were taken out of the way. */
  readonly deadLetters: number
  readonly durationMs: number
}

/** What a run needs of its host. */
export interface HostOfRun<T extends DocumentBody> {
  registerObserver(observer: RegisteredObserver<T>): Promise<void>
  unregisterObservers(): Promise<unknown>
  health(): HostHealth
  on<Name extends HostEventName>(name: Name, listener: HostEventListener<Name>): unknown
}

/** See `ChangeFeedProcessorHost.runUntilCaughtUp`. The host was not used before. */
export async function runUntilCaughtUp<T extends DocumentBody>(
  host: HostOfRun<T>,
  observer: RegisteredObserver<T>,
  { options, timeoutMs, signal }: CatchUpOptions & { readonly options: ResolvedHostOptions<T> },
): Promise<CaughtUpRun> {
  const { feed, leases, group, mode, pendingDeletes, clock } = options
  const startMs = clock.monotonicMs()
  const counts = countWork(host)
  const cannot = whenItCannot(host, group)
  const estimator = new ChangeFeedEstimator({ feed, leases, group, mode, pendingDeletes, clock })
  const catchUp = new CatchUp({
    group,
    feed,
    mode,
    clock,
    estimate: async (given) => {
      const estimate = await estimator.estimate({ limit: 1, signal: given })
      // What the feed knows of the group's other keys is of an earlier life of it.
      if (options.partitionKeyRangeId === undefined) return estimate
      return { ...estimate, leases: estimate.leases.filter(({ state }) => state !== 'missing') }
    },
    doneLsn: (lease) => doneLsn(host, lease),
  })
  try {
    const signals = signal === undefined ? [cannot] : [signal, cannot]
    const limit = { timeoutMs, signal: AbortSignal.any(signals), cause: () => failureOf(host) }
    await catchUp.within(limit, async (given) => {
      given.throwIfAborted()
      await Promise.race([host.registerObserver(observer), rejectedBy(given)])
      await catchUp.begin(given)
      await catchUp.reached(given)
    })
  } finally {
    await host.unregisterObservers()
    await estimator[Symbol.asyncDispose]()
  }
  return { ...counts, durationMs: clock.monotonicMs() - startMs }
}

type Counts = { -readonly [Key in 'changes' | 'batches' | 'deadLetters']: CaughtUpRun[Key] }

function countWork<T extends DocumentBody>(host: HostOfRun<T>): Readonly<Counts> {
  const counts: Counts = { changes: 0, batches: 0, deadLetters: 0 }
  host.on('batchDone', ({ changes }) => {
    counts.changes += changes
    counts.batches += 1
  })
  host.on('deadLettered', () => {
    counts.deadLetters += 1
  })
  return counts
}

/** Aborted when this host comes to know that somebody has to help first. */
function whenItCannot<T extends DocumentBody>(host: HostOfRun<T>, group: string): AbortSignal {
  const over = new AbortController()
  const cannot = (range: FeedRange, why: string, cause: unknown): void => {
    const text = `group ${group} cannot catch up: range ${feedRangeId(range)} ${why}`
    over.abort(new NotCaughtUpError(text, { cause }))
  }
  host.on('rangeHalted', ({ range, error }) => cannot(range, 'is halted', error))
  host.on('horizonPassed', ({ range, action, error }) => {
    if (action === 'halt') cannot(range, 'was purged of what the group has not read', error)
  })
  host.on('stopped', ({ error }) =>
    over.abort(error ?? new HostStoppedError('the host was stopped')),
  )
  return over.signal
}

/** What was processed here counts before it is stored: it is stored at the end at the latest. */
function doneLsn<T extends DocumentBody>(
  host: HostOfRun<T>,
  { leaseId, epoch }: LeaseEstimate,
): number {
  const held = host.health().leases.find((own) => own.leaseId === leaseId && own.epoch === epoch)
  return held?.doneLsn ?? 0
}

function failureOf<T extends DocumentBody>(host: HostOfRun<T>): unknown {
  const { leases, lastError } = host.health()
  return leases.find((lease) => lease.lastError !== undefined)?.lastError ?? lastError
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
