import {
  LeaseStoreUnavailableError,
  errorCode,
  type Change,
  type DeadLetter,
  type DocumentBody,
  type FeedObserver,
  type IChangeFeedObserver,
  type LeaseGroup,
  type LeaseStore,
  type ObserverContext,
} from '@tidemark/contracts'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { StoreUnavailableError } from '@tidemark/contracts'
import { FakeGroupPositions } from '../../fake-group-positions.ts'
import { balancesByLoad, type Schedule } from '../schedule/schedule.ts'
import { SeededRandom } from '../time/seeded-random.ts'
import { SimulatedProcess } from '../time/simulated-process.ts'
import type { Trace } from '../time/trace.ts'
import { VirtualTime } from '../time/virtual-time.ts'
import { ObserverBehaviour } from './behaviour.ts'
import { FencedSink } from './fenced-sink.ts'
import { GROUP, LeaseServer, type StoreChange } from './lease-server.ts'
import { SimulatedSource } from './linked-feed.ts'
import { linkedCollection } from './linked-collection.ts'
import { linkedLeaseStore } from './linked-lease-store.ts'
import { isAlive, type Member } from './member.ts'
import { NetworkLink } from './network-link.ts'
import { ObserverCosts } from './observer-costs.ts'
import { OutsideLink } from './outside-link.ts'
import { SimulatedFeed } from './simulated-feed.ts'
import { watchedLeaseStore } from './watched-lease-store.ts'
import type { Workload } from './workload.ts'
import type { Delivery, ObserverLife, SentCall, WorldListener } from './world-events.ts'

/** Settings of the hosts of a simulation: defaults, but waits short enough for everything to end in time. */
export const HOST_TIMES = {
  heartbeatMs: 2_000,
  ttlMs: 8_000,
  /** A host stops so long before its session ends in the store. */
  marginMs: 800,
  handoffTimeoutMs: 3_000,
  abortGraceMs: 500,
  retryMaxDelayMs: 2_000,
} as const

/** A host that ended by itself is started again after so long. */
const RESTART_MS = 1_000
/** Tries before a change becomes a dead letter, where there are any. */
export const MAX_ATTEMPTS = 2
/** How long a call may take, where that is watched. */
const MAX_BATCH_MS = 5_000
/** With lanes: changes that are read and not all done before them. */
export const LANE_WINDOW = 12

/** Most changes of one batch, besides those of one transaction. */
export const MAX_BATCH = 4

export interface WorldOptions {
  readonly schedule: Schedule
  readonly trace: Trace
  /** Without it observers do nothing but behave. */
  readonly workload?: Workload | undefined
  readonly listeners: readonly (WorldListener & { storeChanged?(change: StoreChange): void })[]
}

/** Hosts in processes of their own, over one lease store and one feed, in virtual time. */
export class World {
  readonly schedule: Schedule
  readonly time: VirtualTime = new VirtualTime()
  readonly trace: Trace
  readonly server: LeaseServer
  readonly feed: SimulatedFeed<DocumentBody>
  readonly source: SimulatedSource<DocumentBody>
  readonly behaviour: ObserverBehaviour
  readonly sink: FencedSink = new FencedSink()
  readonly members: Member[] = []
  /** Changes that were taken out of the way. */
  readonly deadLetters: Change[] = []
  /** Somebody with tools, outside of all hosts. */
  readonly operator: SimulatedProcess
  readonly #workload: Workload | undefined
  /** Only then groups look at which feed they follow: other seeds have the histories that they had. */
  readonly #hasStrangers: boolean
  #strangers = 0
  readonly #listeners: WorldOptions['listeners']

  constructor({ schedule, trace, workload, listeners }: WorldOptions) {
    const { seed, store, ranges } = schedule
    const { time } = this
    this.schedule = schedule
    this.trace = trace
    this.#workload = workload
    this.#hasStrangers = schedule.faults.some(({ kind }) => kind === 'stranger')
    this.#listeners = listeners
    this.server = new LeaseServer({
      kind: store,
      time,
      seed,
      onChange: (change) => this.#storeChanged(change),
      onSynced: (state) => {
        for (const listener of listeners) listener.synced?.(state)
      },
    })
    this.feed = new SimulatedFeed(ranges)
    this.source = new SimulatedSource(this.feed, {
      positions: new FakeGroupPositions(),
      onTold: (told) => {
        for (const listener of listeners) listener.told?.(told)
      },
      time,
      random: SeededRandom.stream(seed, 3),
    })
    const costs = balancesByLoad(schedule) ? new ObserverCosts(seed) : undefined
    this.behaviour = new ObserverBehaviour(time, seed, costs)
    this.operator = new SimulatedProcess('operator', { time, random: SeededRandom.stream(seed, 4) })
  }

  get nowMs(): number {
    return this.time.nowMs
  }

  /** Processes whose hosts work or will go on to. */
  get alive(): readonly Member[] {
    return this.members.filter(isAlive)
  }

  note(what: string, who: string, of = '', number = 0): void {
    this.trace.note({ atMs: this.time.nowMs, what, who, of, number })
  }

  /** A process of this name starts. */
  start(name: string): Member {
    const id = this.members.length
    const { seed } = this.schedule
    const process = new SimulatedProcess(`${name}#${id}`, {
      time: this.time,
      random: SeededRandom.stream(seed, 100 + id),
    })
    const link = this.#linkOf(process, SeededRandom.stream(seed, 10_000 + id))
    const outside = new OutsideLink({
      time: this.time,
      random: SeededRandom.stream(seed, 20_000 + id),
      process,
      onDone: () => this.note('request', process.name),
    })
    const host = this.#newHost(name, process, link, () => member)
    const member: Member = {
      id,
      name,
      process,
      link,
      outside,
      host,
      status: 'running',
      isOutdone: false,
    }
    for (const other of this.members) if (other.name === name) other.isOutdone = true
    this.members.push(member)
    this.note('start', process.name)
    for (const listener of this.#listeners) listener.started?.(member)
    this.#run(member)
    return member
  }

  /**
   * A host of another feed starts in this group, and is to be refused. False while nobody has said which feed the group follows:
   * then it would be the first.
   */
  startStranger(): boolean {
    if (this.server.state.head.feed === undefined) return false
    const { seed } = this.schedule
    const id = this.#strangers++
    const process = new SimulatedProcess(`stranger#${id}`, {
      time: this.time,
      random: SeededRandom.stream(seed, 30_000 + id),
    })
    const link = this.#linkOf(process, SeededRandom.stream(seed, 40_000 + id))
    const host = new ChangeFeedProcessorHost<DocumentBody>({
      hostName: `stranger${id}`,
      group: GROUP,
      feed: this.source.linkedTo(process, 'other-feed'),
      leases: this.#leasesOver(process, link),
      clock: process,
      random: process.random,
      logger: false,
      hostOptions: { startTimeoutMs: 20_000 },
    })
    this.note('start', process.name)
    const ended = (): void => this.note('stopped', process.name)
    process.enter(() => {
      host
        .registerObserver(() => {})
        .then(() => {
          for (const listener of this.#listeners) listener.strangerJoined?.(process.name)
        }, ended)
    })
    return true
  }

  /** SIGKILL. */
  kill(member: Member): void {
    this.note('kill', member.process.name)
    member.status = 'dead'
    member.process.kill()
  }

  /** Ends gracefully; `then` follows when it has ended. */
  end(member: Member, then: () => void = () => {}): void {
    this.note('end', member.process.name)
    member.status = 'leaving'
    member.process.enter(() => {
      member.host.unregisterObservers().then(then, (error: unknown) => {
        throw error
      })
    })
  }

  /** An operator does something to the group, and gets there whatever is the matter with hosts and links. */
  operate(act: (group: LeaseGroup) => Promise<unknown>): void {
    const { server, operator } = this
    server.admit(() => {
      void server.execute(operator, async () => {
        const store =
          server.kind === 'model'
            ? server.leases
            : new DocumentLeaseStore(server.documents, { clock: operator, random: operator.random })
        const group = await store.openGroup(GROUP)
        await act(group)
        await group.close()
      })
    })
  }

  #linkOf(process: SimulatedProcess, random: SeededRandom): NetworkLink {
    const { time, server } = this
    const unavailable = (message: string): Error =>
      server.kind === 'model'
        ? new LeaseStoreUnavailableError(message)
        : new StoreUnavailableError(message)
    return new NetworkLink({ time, random, process, server, unavailable })
  }

  #leasesOver(process: SimulatedProcess, link: NetworkLink): LeaseStore {
    const { server } = this
    if (server.kind === 'model') return linkedLeaseStore(server, process, link)
    const { random } = process
    return new DocumentLeaseStore(linkedCollection(server, process, link), {
      clock: process,
      random,
    })
  }

  #newHost(
    name: string,
    process: SimulatedProcess,
    link: NetworkLink,
    member: () => Member,
  ): ChangeFeedProcessorHost<DocumentBody> {
    const { random } = process
    const { settings } = this.schedule
    const leases = watchedLeaseStore(this.#leasesOver(process, link), {
      sent: (call) => this.#sent({ ...call, member: member(), sentMs: this.nowMs }),
      answered: (call, reply) => {
        for (const listener of this.#listeners) listener.answered?.(call, reply)
      },
    })
    return new ChangeFeedProcessorHost<DocumentBody>({
      hostName: name,
      group: GROUP,
      feed: this.source.linkedTo(process, this.#hasStrangers ? this.feed.identity : undefined),
      leases,
      clock: process,
      random,
      logger: false,
      feedOptions: {
        startFromBeginning: true,
        maxItemCount: MAX_BATCH,
        balanceBy: settings.balanceBy,
      },
      hostOptions: {
        handoffTimeoutMs: HOST_TIMES.handoffTimeoutMs,
        shutdownTimeoutMs: HOST_TIMES.handoffTimeoutMs,
        abortGraceMs: HOST_TIMES.abortGraceMs,
        retryMaxDelayMs: HOST_TIMES.retryMaxDelayMs,
        startTimeoutMs: 20_000,
        checkpointFrequency: settings.checkpointFrequency,
        maxConcurrentKeys: settings.maxConcurrentKeys,
        laneWindowChanges: LANE_WINDOW,
        failurePolicy:
          settings.failurePolicy === 'deadLetter'
            ? { mode: 'deadLetter', maxAttempts: MAX_ATTEMPTS }
            : 'retryForever',
        ...(settings.watchdog ? { maxBatchMs: MAX_BATCH_MS } : {}),
      },
      ...(settings.failurePolicy === 'deadLetter'
        ? {
            deadLetters: (letter) =>
              this.source.keep(process, () => this.#letterKept(letter, member())),
          }
        : {}),
    })
  }

  #run(member: Member): void {
    const { host, process } = member
    host.on('stopped', ({ error }) => {
      const code = error === undefined ? '' : (errorCode(error) ?? 'without a code')
      this.note('stopped', process.name, code)
      member.status = 'ended'
      for (const listener of this.#listeners) listener.stopped?.(member, error)
      // As whoever runs processes does, where another one has not taken the name.
      if (error !== undefined && !member.isOutdone) {
        this.time.after(RESTART_MS, () => {
          if (!this.alive.some((other) => other.name === member.name)) this.start(member.name)
        })
      }
    })
    // What it rejects with comes with the event too.
    host.registerObserverFactory(() => this.#observer(member)).catch(() => {})
  }

  #observer(member: Member): FeedObserver {
    const own = this.#workload?.observerIn(member)
    const lifeOf = ({ leaseId, range, fence }: ObserverContext): ObserverLife => ({
      member,
      leaseId,
      epoch: fence.epoch,
      range,
    })
    const process = async (
      context: ObserverContext,
      changes: readonly Change[] | Change,
      work?: () => Promise<void>,
    ): Promise<void> => {
      const isOne = !Array.isArray(changes)
      const entries = [changes].flat().map((change) => this.feed.entryOf(change))
      const call = { isOne, context, atMs: this.nowMs, changes: entries, outcome: undefined }
      await this.#process({ ...lifeOf(context), ...call }, work)
    }
    const ends: Pick<IChangeFeedObserver<DocumentBody>, 'open' | 'close'> = {
      open: (context) => {
        const life = lifeOf(context)
        this.note('open', member.process.name, life.leaseId, life.epoch)
        for (const listener of this.#listeners) listener.opened?.(life)
        return own?.open?.(context)
      },
      close: (context, reason) => {
        const life = lifeOf(context)
        this.note(`close:${reason}`, member.process.name, life.leaseId, life.epoch)
        for (const listener of this.#listeners) listener.closed?.(life, reason, context)
        return own?.close?.(context, reason)
      },
    }
    if (own === undefined) {
      return this.schedule.settings.observer === 'one'
        ? { ...ends, processChange: (context, change) => process(context, change) }
        : { ...ends, processChanges: (context, changes) => process(context, changes) }
    }
    if ('processChange' in own) {
      return {
        ...ends,
        processChange: (context, change) =>
          process(context, change, async () => own.processChange(context, change)),
      }
    }
    return {
      ...ends,
      processChanges: (context, changes) =>
        process(context, changes, async () => own.processChanges(context, changes)),
    }
  }

  async #process(delivery: Delivery, work?: () => Promise<void>): Promise<void> {
    const { member, leaseId, changes } = delivery
    const [first] = changes
    const name = member.process.name
    this.note('dispatch', name, leaseId, first?.change.lsn)
    for (const listener of this.#listeners) listener.dispatched?.(delivery)
    try {
      await this.behaviour.behave(delivery, work)
      this.sink.write(delivery, changes)
      delivery.outcome = 'done'
      this.note('done', name, leaseId, changes.at(-1)?.change.lsn)
    } catch (error) {
      delivery.outcome = 'failed'
      this.note('failed', name, leaseId, first?.change.lsn)
      throw error
    } finally {
      for (const listener of this.#listeners) listener.settled?.(delivery)
    }
  }

  #letterKept(letter: DeadLetter, member: Member): void {
    const { change } = letter
    this.deadLetters.push(change)
    const entry = this.feed.entryOf(change)
    this.note('deadLetter', 'source', entry.key, entry.n)
    for (const listener of this.#listeners) listener.deadLettered?.(entry, letter, member)
  }

  #sent(call: SentCall): SentCall {
    const { member, operation, leases } = call
    this.note(operation, member.process.name, leases[0]?.leaseId, leases.length)
    for (const listener of this.#listeners) listener.sent?.(call)
    return call
  }

  #storeChanged(change: StoreChange): void {
    const { after, by, cause } = change
    const who = by?.name ?? 'store'
    this.note(`stored:${cause}`, who, after.head.generation, after.head.membershipVersion)
    for (const listener of this.#listeners) listener.storeChanged?.(change)
  }
}
