import assert from 'node:assert/strict'
import {
  feedRangeId,
  parseFeedRangeId,
  type Change,
  type CloseReason,
  type DeadLetterSink,
  type FeedRange,
  type IChangeFeedObserver,
  type LeaseStore,
  type ObserverContext,
  type Random,
  type Resynchronization,
  type Telemetry,
} from '@tidemark/contracts'
import {
  ChangeFeedProcessorHost,
  type CatchUpOptions,
  type CaughtUpRun,
  type FeedOptions,
  type HostEventName,
  type HostEvents,
  type HostOptions,
} from '@tidemark/processor'
import { LeaseMemory, leaseStoreOn } from '@tidemark/processor/lease-model'
import { FakeFeed } from '../fake-feed.ts'
import type { FakeDocument } from '../fake-feed-range.ts'
import { settle } from '../platform/settle.ts'
import { SeededRandom } from '../simulation/time/seeded-random.ts'
import { SimulatedClock } from '../simulated-clock.ts'
import { GatedClock, GatedFeed, GatedLeaseStore, ProcessGate } from './process-gate.ts'

/** One call of `processChanges`, from its begin. */
export interface Delivery {
  readonly host: string
  /** Of the fleet's hosts the one that made it: two processes may have one name. */
  readonly member: FleetHost
  readonly leaseId: string
  readonly epoch: number
  readonly attempt: number
  readonly atMs: number
  readonly changes: readonly Change<FakeDocument>[]
  /** Undefined while it runs. */
  outcome: 'done' | 'failed' | undefined
}

/** What an observer of the fleet was told. */
export interface ObserverCall {
  readonly host: string
  readonly leaseId: string
  readonly epoch: number
  readonly atMs: number
  readonly call: 'open' | 'process' | 'resynchronize' | 'close'
  readonly reason: CloseReason | undefined
}

/** What a test lets observers do with a batch. */
export type Behaviour = (
  context: ObserverContext,
  changes: readonly Change<FakeDocument>[],
) => Promise<void> | void

/** What a test lets observers do when they are told that they came too late. */
export type ResyncBehaviour = (
  context: ObserverContext,
  resync: Resynchronization,
) => Promise<void> | void

export interface FleetOptions {
  /** Number of pkranges of the feed at the start. @range 1 or more @default 8 */
  ranges?: number | undefined
  /** Whether the feed wakes its readers; without it they poll. @default true */
  waiting?: boolean | undefined
  /** Whether a child's feed carries its parent's changes. @default true */
  childrenCarryParentChanges?: boolean | undefined
  /** Whether the feed makes positions of LSNs, and measures lag. @default true */
  measuring?: boolean | undefined
  /** `memory` is the fleet's. @default a lease store on it, under the fleet's clock */
  leases?: ((clock: SimulatedClock, memory: LeaseMemory) => LeaseStore) | undefined
  /** Of all hosts and of the leases. @default one whose seed is fixed */
  random?: Random | undefined
  hostOptions?: HostOptions | undefined
  feedOptions?: FeedOptions | undefined
  /** @default none */
  deadLetters?: DeadLetterSink<FakeDocument> | undefined
  /** @default none */
  telemetry?: Telemetry | undefined
  /** What observers do with a batch. @default they take note of it */
  behaviour?: Behaviour | undefined
  /** What observers do when a range is read again. @default observers have no such function */
  resynchronize?: ResyncBehaviour | undefined
  /** What observers do when they are opened and closed. @default nothing */
  lifecycle?:
    | ((context: ObserverContext, call: 'open' | 'close') => Promise<void> | void)
    | undefined
  /** Called before each read of a page. May wait, and may throw: a fault. @default nothing */
  beforeRead?: (() => Promise<void> | void) | undefined
  /** Called after positions were joined, before the answer. May wait. @default nothing */
  afterJoin?: (() => Promise<void> | void) | undefined
}

/** A host of a fleet, with what a test does to its process. */
export interface FleetHost {
  readonly name: string
  readonly host: ChangeFeedProcessorHost<FakeDocument>
  readonly gate: ProcessGate
  readonly clock: GatedClock
  readonly store: GatedLeaseStore
  readonly events: {
    readonly name: HostEventName
    readonly event: unknown
    readonly atMs: number
  }[]
}

/** What a host of a fleet is started with. */
export interface StartOptions {
  hostOptions?: HostOptions | undefined
  feedOptions?: FeedOptions | undefined
}

const EVENTS: readonly HostEventName[] = [
  'joined',
  'leaseAcquired',
  'leaseReleased',
  'leaseLost',
  'rebalanced',
  'unownedRanges',
  'observerError',
  'observerStuck',
  'leaseFenced',
  'batchBisected',
  'deadLettered',
  'deadLetterFailed',
  'deadLettersSuspended',
  'redriven',
  'rangeHalted',
  'feedError',
  'rangeGone',
  'rangeReplaced',
  'leaseCut',
  'leasesJoined',
  'horizonPassed',
  'resynchronized',
  'positionReportFailed',
  'checkpointed',
  'leaseStoreUnavailable',
  'leaseStoreRecovered',
  'leaseStoreLost',
  'leasesDamaged',
  'recovered',
  'fenced',
  'stopped',
]

/**
 * Several processor hosts, each as in a process of its own, over one feed and one lease store under a
 * simulated clock; records every call of every observer. Processes can be killed, stopped and cut off.
 */
export class Fleet {
  readonly clock: SimulatedClock = new SimulatedClock()
  readonly feed: FakeFeed
  readonly leases: LeaseStore
  /** What the leases are in, unless the lease store is of another kind. */
  readonly memory: LeaseMemory
  readonly deliveries: Delivery[] = []
  readonly calls: ObserverCall[] = []
  /** Whether every change is to be delivered, not only those after the start. */
  readonly startsAtBeginning: boolean
  readonly #options: FleetOptions
  readonly #random: Random
  readonly #hosts: FleetHost[] = []
  behaviour: Behaviour

  constructor(options: FleetOptions = {}) {
    this.#options = options
    this.#random = options.random ?? new SeededRandom(1)
    this.startsAtBeginning =
      options.feedOptions?.startFromBeginning === true &&
      options.feedOptions.startTime === undefined
    this.behaviour = options.behaviour ?? (() => {})
    const { ranges = 8, waiting, childrenCarryParentChanges, measuring } = options
    const { beforeRead, afterJoin } = options
    const shape = { ranges, waiting, childrenCarryParentChanges, measuring }
    const feedOptions = { ...shape, beforeRead, afterJoin }
    this.feed = new FakeFeed({ clock: this.clock, ...feedOptions })
    const { clock } = this
    this.memory = new LeaseMemory(this.#random)
    this.leases = options.leases?.(clock, this.memory) ?? leaseStoreOn(this.memory, { clock })
  }

  /** Every host that was ever started. */
  get hosts(): readonly FleetHost[] {
    return this.#hosts
  }

  /** Makes a host without starting it. */
  create(name: string, options: StartOptions = {}): FleetHost {
    const gate = new ProcessGate()
    const clock = new GatedClock(this.clock, gate)
    const store = new GatedLeaseStore(this.leases, gate)
    const host = new ChangeFeedProcessorHost<FakeDocument>({
      hostName: name,
      group: 'group',
      feed: new GatedFeed(this.feed, gate),
      leases: store,
      deadLetters: this.#options.deadLetters,
      telemetry: this.#options.telemetry,
      clock,
      random: this.#random,
      feedOptions: { ...this.#options.feedOptions, ...options.feedOptions },
      hostOptions: { ...this.#options.hostOptions, ...options.hostOptions },
      logger: false,
    })
    const member: FleetHost = { name, host, gate, clock, store, events: [] }
    for (const event of EVENTS) this.#record(member, event)
    this.#hosts.push(member)
    return member
  }

  /** Starts a host; returns when it has joined. */
  async start(name: string, options: StartOptions = {}): Promise<FleetHost> {
    const member = this.create(name, options)
    await this.run(this.register(member))
    return member
  }

  register(member: FleetHost): Promise<void> {
    return member.host.registerObserverFactory(() => this.#observer(member))
  }

  /** Has a host that was made, and not started, work until its group has caught up. */
  runUntilCaughtUp(member: FleetHost, options: CatchUpOptions = {}): Promise<CaughtUpRun> {
    return member.host.runUntilCaughtUp(this.#observer(member), options)
  }

  /** Stops a host gracefully. */
  async stop(member: FleetHost): Promise<void> {
    await this.run(member.host.unregisterObservers())
  }

  /** SIGKILL: nothing of this host goes on. */
  kill(member: FleetHost): void {
    member.gate.freeze()
  }

  /** Ends all that are alive, so that nothing is left running. */
  async end(): Promise<void> {
    for (const member of this.#hosts) if (!member.gate.isFrozen) member.store.link = 'up'
    const alive = this.#hosts.filter(({ gate }) => !gate.isFrozen)
    await this.run(Promise.all(alive.map(({ host }) => host.unregisterObservers())))
  }

  /** Lets time pass until `work` has settled. */
  async run<R>(work: Promise<R>, limitMs = 120_000): Promise<R> {
    let isSettled = false
    const watched = work.finally(() => (isSettled = true))
    watched.catch(() => {})
    const ok = await this.clock.advanceUntil(() => isSettled, { limitMs, stepMs: 50 })
    assert(ok, `still waiting after ${limitMs} ms of simulated time; ${this.#found()}`)
    return watched
  }

  advance(durationMs: number): Promise<void> {
    return this.clock.advance(durationMs)
  }

  /** Lets time pass until `condition` holds; returns how much passed. */
  async until(condition: () => boolean, limitMs = 60_000): Promise<number> {
    const startMs = this.clock.monotonicMs()
    await settle(3)
    const ok = await this.clock.advanceUntil(condition, { limitMs, stepMs: 10 })
    assert(
      ok,
      `after ${limitMs} ms of simulated time this does not hold: ${String(condition)}; ${this.#found()}`,
    )
    return this.clock.monotonicMs() - startMs
  }

  /** What there is, for whoever reads why a wait failed. */
  #found(): string {
    const hosts = this.#hosts.map(({ name, host, gate, events }) => {
      const { status, leases } = host.health()
      const held = leases.map(({ leaseId, state }) => `${leaseId} ${state}`).join(', ')
      const last = events.slice(-5).map((event) => event.name)
      return `${name} ${gate.isFrozen ? 'killed or frozen' : status} with [${held}], last events [${last.join(', ')}]`
    })
    const done = this.#done()
    const missing = this.feed.changes.filter(({ id }) => !done.has(id)).map(({ id }) => id)
    const left = `${missing.length} of ${this.feed.changes.length} changes not done`
    return `hosts: ${hosts.join('; ') || 'none'}; ${left}: ${missing.slice(0, 5).join(', ') || 'none'}`
  }

  /** How many leases each host that is alive works on, by name. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { name, host, gate } of this.#hosts) {
      const health = host.health()
      if (gate.isFrozen || health.status === 'stopped') continue
      counts[name] = health.leases.filter(({ state }) => state === 'running').length
    }
    return counts
  }

  /** Whether the hosts that are alive work on all leases, each on an even share. */
  isBalanced(leases: number = this.feed.ranges.length): boolean {
    const numbers = Object.values(this.counts())
    const sum = numbers.reduce((a, b) => a + b, 0)
    return sum === leases && Math.max(...numbers) - Math.min(...numbers) <= 1
  }

  /**
   * Whether the hosts that are alive work on every key, each key once, and on leases whose numbers
   * differ by at most one: however ranges were split, merged and joined.
   */
  coversAll(): boolean {
    const numbers = Object.values(this.counts())
    if (Math.max(...numbers) - Math.min(...numbers) > 1) return false
    const ranges = this.workedOn().sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
    let covered = ''
    for (const { minInclusive, maxExclusive } of ranges) {
      if (minInclusive !== covered) return false
      covered = maxExclusive
    }
    return covered === 'FF'
  }

  /** The ranges of the leases that hosts which are alive work on. */
  workedOn(): FeedRange[] {
    const alive = this.#hosts.filter(({ gate }) => !gate.isFrozen)
    return alive.flatMap(({ host }) =>
      host
        .health()
        .leases.filter(({ state }) => state === 'running')
        .flatMap(({ leaseId }) => parseFeedRangeId(leaseId) ?? []),
    )
  }

  /** Whether each lease is one present range of the feed. */
  matchesRanges(): boolean {
    const worked = this.workedOn().map(feedRangeId).sort()
    return worked.join() === this.feed.ranges.map(feedRangeId).sort().join()
  }

  /** Whether every change was accepted by an observer. */
  isDrained(): boolean {
    const done = this.#done()
    return this.feed.changes.every(({ id }) => done.has(id))
  }

  #done(): ReadonlySet<string> {
    const done = new Set<string>()
    for (const { outcome, changes } of this.deliveries) {
      if (outcome === 'done') for (const { id } of changes) done.add(id)
    }
    return done
  }

  /** How often each change was handed to an observer, for those more than once. */
  duplicates(): Map<string, number> {
    const times = new Map<string, number>()
    for (const { changes } of this.deliveries) {
      for (const { id } of changes) times.set(id, (times.get(id) ?? 0) + 1)
    }
    return new Map([...times].filter(([, count]) => count > 1))
  }

  eventsOf<Name extends HostEventName>(member: FleetHost, name: Name): HostEvents[Name][] {
    return member.events
      .filter((recorded) => recorded.name === name)
      .map(({ event }) => event as HostEvents[Name])
  }

  /** The same with their times. */
  events<Name extends HostEventName>(
    member: FleetHost,
    name: Name,
  ): { readonly event: HostEvents[Name]; readonly atMs: number }[] {
    return member.events
      .filter((recorded) => recorded.name === name)
      .map(({ event, atMs }) => ({ event: event as HostEvents[Name], atMs }))
  }

  #record(member: FleetHost, name: HostEventName): void {
    member.host.on(name, (event) => {
      member.events.push({ name, event, atMs: this.clock.monotonicMs() })
    })
  }

  #observer(member: FleetHost): IChangeFeedObserver<FakeDocument> {
    const { name: host, gate } = member
    const note = (
      context: ObserverContext,
      call: ObserverCall['call'],
      reason?: CloseReason,
    ): void => {
      const { leaseId, fence } = context
      const atMs = this.clock.monotonicMs()
      this.calls.push({ host, leaseId, epoch: fence.epoch, atMs, call, reason })
    }
    return {
      open: (context) => {
        note(context, 'open')
        return this.#options.lifecycle?.(context, 'open')
      },
      processChanges: async (context, changes) => {
        note(context, 'process')
        const { leaseId, fence, attempt } = context
        const delivery: Delivery = {
          host,
          member,
          leaseId,
          epoch: fence.epoch,
          attempt,
          atMs: this.clock.monotonicMs(),
          changes,
          outcome: undefined,
        }
        this.deliveries.push(delivery)
        try {
          await this.behaviour(context, changes)
          await gate.pass()
          delivery.outcome = 'done'
        } catch (error) {
          delivery.outcome = 'failed'
          throw error
        }
      },
      resynchronize: async (context, resync) => {
        note(context, 'resynchronize')
        await this.#options.resynchronize?.(context, resync)
        await gate.pass()
      },
      close: (context, reason) => {
        note(context, 'close', reason)
        return this.#options.lifecycle?.(context, 'close')
      },
    }
  }
}
