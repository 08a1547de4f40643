import type { ChangeFeedSource, DeadLetter, Telemetry } from '@tidemark/contracts'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  type HostOptions,
  type RegisteredObserver,
} from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'
import { machineMs } from '../measuring/stopwatch.ts'

export interface TimedHost {
  readonly orders: ChangeFeedSource<OrderDocument>
  readonly leases: Collection
  readonly observer: RegisteredObserver<OrderDocument>
  /** Changes that were accepted or became dead letters, after which the host is stopped. */
  readonly count: number
  readonly maxItemCount: number
  readonly hostOptions?: HostOptions | undefined
  readonly telemetry?: Telemetry | undefined
  readonly deadLetters?: ((letter: DeadLetter<OrderDocument>) => void) | undefined
}

let groups = 0

/**
 * Changes per second that a new group's observer gets done, from the beginning of the feed: from its first batch
 * (which is not counted) until `count` are done.
 */
export async function rateUnderHost(parts: TimedHost): Promise<number> {
  const { orders, leases, observer, count, maxItemCount, hostOptions, deadLetters, telemetry } =
    parts
  groups += 1
  const host = new ChangeFeedProcessorHost<OrderDocument>({
    hostName: `bench-${process.pid}`,
    group: `timed-${process.pid}-${groups}`,
    feed: orders,
    leases: new DocumentLeaseStore(leases),
    feedOptions: { startFromBeginning: true, maxItemCount },
    hostOptions,
    telemetry,
    ...(deadLetters && { deadLetters: async (letter) => deadLetters(letter) }),
  })
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let seen = 0
  let first: { readonly atMs: number; readonly changes: number } | undefined
  let endedMs = 0
  const finished = (changes: number): void => {
    seen += changes
    const nowMs = machineMs()
    first ??= { atMs: nowMs, changes }
    if (seen < count || endedMs > 0) return
    endedMs = nowMs
    resolve()
  }
  host.on('batchDone', ({ changes }) => finished(changes))
  host.on('deadLettered', () => finished(1))
  await host.registerObserver(observer)
  const ended = Promise.withResolvers<never>()
  host.on('stopped', ({ error }) => ended.reject(error ?? new Error('the host stopped')))
  ended.promise.catch(() => {})
  const atEnd = await Promise.race([done.then(() => seen), ended.promise])
  await host.unregisterObservers()
  const { atMs = 0, changes = 0 } = first ?? {}
  return ((atEnd - changes) / (endedMs - atMs)) * 1000
}
