import { expect } from 'vitest'
import {
  feedRangeId,
  FULL_RANGE,
  lsn,
  parseFeedRangeId,
  partitionKeyDefinition,
  type AcquiredLease,
  type BatchAttempts,
  type Checkpoint,
  type Clock,
  type Continuation,
  type FeedRange,
  type HeldLease,
  type HostIdentity,
  type HostProfile,
  type LeaseGroup,
  type LeaseStore,
  type NewLease,
  type ObservedClock,
  type SyncReply,
  type SyncRequest,
} from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'

/** Session time to live and heartbeat of the suite, lease-clock ms. */
export const TTL_MS = 8_000
export const CAP_MS = 2_000

/** The time under the suite's control: the wall clock is the store's, the monotonic one all hosts'. */
export class StoreTime implements Clock {
  #wallMs: number
  #monotonicMs: number
  /** Of a store whose time never goes back. */
  #highestMs: number

  constructor(startMs = 1_767_225_600_000) {
    this.#wallMs = startMs
    this.#highestMs = startMs
    this.#monotonicMs = startMs
  }

  wallMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  /** Time passes. */
  advance(byMs: number): void {
    this.#wallMs += byMs
    this.#monotonicMs += byMs
    this.#highestMs += byMs
  }

  /** Somebody sets the store's clock. */
  step(byMs: number): void {
    this.#wallMs += byMs
    this.#highestMs = Math.max(this.#highestMs, this.#wallMs)
  }

  /** The store's clock is set to where it had come: what went back is right again. */
  catchUp(): void {
    this.#wallMs = this.#highestMs
  }

  /** Only back-off after lost races sleeps here: the next turn of the event loop is soon enough. */
  sleep(_delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (signal.aborted) reject(signal.reason)
        else resolve()
      })
    })
  }
}

/** One data set of leases, and the ways that hosts reach it. */
export interface LeaseStoreUnderTest {
  /** What one host has. */
  readonly store: LeaseStore
  /** What another host has: the same leases by another object, over another connection if there are any. */
  readonly other: LeaseStore
  readonly time: StoreTime
  close(): Promise<void>
}

export interface LeaseStoreConformance {
  /** Shown in the tests' names. */
  readonly name: string
  /** Empty, or with other groups in it: the suite's group names are unique. */
  open(): Promise<LeaseStoreUnderTest>
  /** Random sequences that are compared with the model. @default 50 */
  readonly modelRuns?: number | undefined
  /** Whether the store's time follows `time` when that goes back. @default false: it stands still then */
  readonly timeGoesBack?: boolean | undefined
  /** Whether `subscribe` gives hints. @default true */
  readonly hints?: boolean | undefined
  /** Whether the store keeps what hosts tell of their work. @default true */
  readonly notes?: boolean | undefined
}

/** What the cases of the suite use. */
export interface LeaseStoreSuite {
  readonly options: LeaseStoreConformance
  store(): LeaseStore
  other(): LeaseStore
  time(): StoreTime
  /** A group of a name not used before, as two hosts have it. Closed after the suite. */
  group(): Promise<{ readonly name: string; readonly one: LeaseGroup; readonly two: LeaseGroup }>
}

const KEY = partitionKeyDefinition('/id')

export const PROFILE: HostProfile = {
  weight: 1,
  minLeases: 0,
  maxLeases: Infinity,
  leaving: false,
}

/** A host of a test. */
export function identity(host: string, incarnation = `${host}-1`): HostIdentity {
  return { host, incarnation }
}

/** A heartbeat with defaults. */
export function syncRequest(
  who: HostIdentity,
  intent: SyncRequest['intent'],
  fields: Partial<SyncRequest> = {},
): SyncRequest {
  return {
    host: who.host,
    incarnation: who.incarnation,
    intent,
    profile: PROFILE,
    ttlMs: TTL_MS,
    clockCapMs: CAP_MS,
    ...fields,
  }
}

export async function syncOk(
  group: LeaseGroup,
  who: HostIdentity,
  intent: SyncRequest['intent'],
  fields: Partial<SyncRequest> = {},
): Promise<SyncReply & { kind: 'ok' }> {
  const reply = await group.sync(syncRequest(who, intent, fields))
  expect(reply.kind).toBe('ok')
  return reply as SyncReply & { kind: 'ok' }
}

/** A checkpoint at an LSN. */
export function position(value: number, attempts?: BatchAttempts): Checkpoint {
  return {
    continuation: continuationOf(`position/${value}|"ü" ${value}`),
    lsn: lsn(value),
    ...(attempts === undefined ? {} : { attempts }),
  }
}

export function continuationOf(text: string): Continuation {
  // The stores treat a continuation as text; only the suite makes one up.
  return text as Continuation
}

/** Leases over equal ranges, all at one position. */
export function newLeases(count: number, start = 0): NewLease[] {
  return evenRanges(count, KEY).map((range) => ({ range, checkpoint: position(start) }))
}

export function idsOf(leases: readonly NewLease[]): string[] {
  return leases.map(({ range }) => feedRangeId(range)).sort()
}

/** Neighbouring parts of a range, of whatever sizes. */
export function cutRange(range: FeedRange, count: number): FeedRange[] {
  let prefix = range.minInclusive
  while (prefix + hexByte(count) >= range.maxExclusive) prefix += '00'
  const bounds = Array.from({ length: count - 1 }, (_, index) => prefix + hexByte(index + 1))
  const starts = [range.minInclusive, ...bounds]
  const ends = [...bounds, range.maxExclusive]
  return starts.map((minInclusive, index) => ({ minInclusive, maxExclusive: ends[index] ?? 'FF' }))
}

/** `count` leases that replace one or several neighbours, all at one position. */
export function piecesOf(
  old: readonly { readonly leaseId: string }[],
  count: number,
  at: number,
): NewLease[] {
  const ranges = old.map(({ leaseId }) => parseFeedRangeId(leaseId) ?? FULL_RANGE)
  const sorted = ranges.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
  const whole: FeedRange = {
    minInclusive: sorted[0]?.minInclusive ?? '',
    maxExclusive: sorted.at(-1)?.maxExclusive ?? 'FF',
  }
  return cutRange(whole, count).map((range) => ({ range, checkpoint: position(at) }))
}

export function heldOf({ leaseId, epoch }: HeldLease): HeldLease {
  return { leaseId, epoch }
}

function hexByte(value: number): string {
  return value.toString(16).toUpperCase().padStart(2, '0')
}

/** Joins, and plans every lease for that host. */
export async function joinAndPlan(
  group: LeaseGroup,
  who: HostIdentity,
  leaseIds: readonly string[],
): Promise<void> {
  const { membershipVersion } = await syncOk(group, who, 'join')
  const targets = new Map(leaseIds.map((leaseId) => [leaseId, who.host]))
  expect(await group.plan({ membershipVersion, targets })).toBe(true)
}

/** A group with leases, all owned by `who`. */
export async function ownedGroup(
  group: LeaseGroup,
  who: HostIdentity,
  count: number,
): Promise<readonly AcquiredLease[]> {
  const leases = newLeases(count)
  await group.create(leases)
  const leaseIds = idsOf(leases)
  await joinAndPlan(group, who, leaseIds)
  const acquired = await group.acquire({ ...who, leaseIds })
  expect(acquired).toHaveLength(count)
  return acquired
}

/** A group as hosts have it: each `sync` tells what its host saw of the lease clock before, if the request does not say. */
export function observingGroup(group: LeaseGroup, clock: Pick<Clock, 'monotonicMs'>): LeaseGroup {
  const seen = new Map<string, Omit<ObservedClock, 'elapsedMs'> & { readonly atMs: number }>()
  const observed = (host: string): ObservedClock | undefined => {
    const last = seen.get(host)
    if (last === undefined) return undefined
    const { clockMs, storeMs, atMs } = last
    return { clockMs, storeMs, elapsedMs: Math.floor(clock.monotonicMs() - atMs) }
  }
  const sync: LeaseGroup['sync'] = async (request, signal) => {
    const { host } = request
    const reply = await group.sync({ observed: observed(host), ...request }, signal)
    if (reply.kind === 'ok') {
      const { clockMs, storeMs } = reply
      seen.set(host, { clockMs, storeMs, atMs: clock.monotonicMs() })
    }
    return reply
  }
  return new Proxy(group, {
    get(target, name) {
      if (name === 'sync') return sync
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** Lets the store's time pass in heartbeats of these hosts, so that the lease clock follows. */
export async function passTime(
  group: LeaseGroup,
  time: StoreTime,
  durationMs: number,
  beating: readonly HostIdentity[],
): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += CAP_MS) {
    time.advance(Math.min(CAP_MS, durationMs - passedMs))
    for (const who of beating) await group.sync(syncRequest(who, 'beat'))
  }
}
