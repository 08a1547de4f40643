import type { Change, IChangeFeedObserver, LeaseStore, ObserverContext } from '@tidemark/contracts'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { Cut, watchedFeed, watchedLeaseStore } from './dead-end.ts'
import { Ownership } from './ownership.ts'
import type { SyntheticFeed, Tick } from './synthetic-feed.ts'

/** Where the hosts of a fleet keep their leases. */
export interface LeaseStores extends AsyncDisposable {
  /** A lease store for one host, with a connection of its own where there are connections. */
  open(): Promise<OpenedLeaseStore>
}

export interface OpenedLeaseStore extends AsyncDisposable {
  readonly leases: LeaseStore
}

export interface FleetOptions {
  readonly group: string
  readonly feed: SyntheticFeed
  readonly stores: LeaseStores
}

interface Member {
  readonly host: ChangeFeedProcessorHost<Tick>
  readonly store: OpenedLeaseStore
  readonly cut: Cut
}

/** Hosts of one group, all in this process, each with its own lease store handle. */
export class Fleet implements AsyncDisposable {
  readonly ownership = new Ownership()
  readonly feed: SyntheticFeed
  readonly #options: FleetOptions
  readonly #members = new Map<string, Member>()
  readonly #dead: Member[] = []
  #calls = 0

  constructor(options: FleetOptions) {
    this.#options = options
    this.feed = options.feed
  }

  get hosts(): readonly string[] {
    return [...this.#members.keys()]
  }

  /** Calls to the lease store so far; each is one round trip. */
  get calls(): number {
    return this.#calls
  }

  /** Connects a host and starts it; connecting is not part of what is timed afterwards. */
  async add(name: string): Promise<() => Promise<void>> {
    const store = await this.#options.stores.open()
    const cut = new Cut()
    const onCall = (): void => {
      this.#calls++
    }
    const host = new ChangeFeedProcessorHost<Tick>({
      hostName: name,
      group: this.#options.group,
      feed: watchedFeed(this.feed, cut),
      leases: watchedLeaseStore(store.leases, { cut, onCall }),
      feedOptions: { startFromBeginning: true },
    })
    this.#members.set(name, { host, store, cut })
    return async () => {
      await host.registerObserver(new RecordingObserver(name, this.ownership, cut))
    }
  }

  async start(name: string): Promise<void> {
    const register = await this.add(name)
    await register()
  }

  /** A planned stop: drains, checkpoints, hands over. */
  async stop(name: string): Promise<void> {
    const member = this.#member(name)
    this.#members.delete(name)
    await member.host.unregisterObservers()
    await member.store[Symbol.asyncDispose]()
  }

  /** The host's calls to lease store and feed never come back from now on. Returns the leases it held. */
  kill(name: string): readonly string[] {
    const member = this.#member(name)
    member.cut.cut()
    this.#members.delete(name)
    this.#dead.push(member)
    return this.ownership.died(name)
  }

  async untilBalanced(timeoutMs = 60_000): Promise<void> {
    const leases = this.feed.rangeIds.length
    await this.ownership.until(() => this.ownership.isBalanced(this.hosts, leases), {
      what: `${leases} leases balanced over ${this.hosts.length} hosts`,
      timeoutMs,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.hosts.map((name) => this.stop(name)))
    // A dead host cannot stop gracefully; its connection is all that is left of it.
    await Promise.all(this.#dead.map(({ store }) => store[Symbol.asyncDispose]()))
  }

  #member(name: string): Member {
    const member = this.#members.get(name)
    if (member === undefined) throw new Error(`the fleet has no host ${name}`)
    return member
  }
}

class RecordingObserver implements IChangeFeedObserver<Tick> {
  readonly #host: string
  readonly #ownership: Ownership
  readonly #cut: Cut

  constructor(host: string, ownership: Ownership, cut: Cut) {
    this.#host = host
    this.#ownership = ownership
    this.#cut = cut
  }

  open({ leaseId }: ObserverContext): void {
    if (!this.#cut.isCut) this.#ownership.opened(this.#host, leaseId)
  }

  processChanges({ leaseId }: ObserverContext, changes: readonly Change<Tick>[]): void {
    if (this.#cut.isCut) return
    this.#ownership.delivered(
      leaseId,
      changes.map(({ lsn }) => lsn),
    )
  }

  close({ leaseId }: ObserverContext): void {
    if (!this.#cut.isCut) this.#ownership.closed(this.#host, leaseId)
  }
}
