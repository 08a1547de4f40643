import type { ChangeFeedSource, LeaseGroup } from '@tidemark/contracts'
import {
  FakeFeed,
  SimulatedClock,
  type FakeDocument,
  type FakeFeedOptions,
} from '@tidemark/testing'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'
import { ChangeFeedEstimator } from './change-feed-estimator.ts'

/** A group that no host works on, with an eye on what an estimator asks of its feed and its lease store. */
export class WatchedGroup {
  readonly clock: SimulatedClock = new SimulatedClock()
  readonly feed: FakeFeed
  readonly estimator: ChangeFeedEstimator<FakeDocument>
  /** Names of the calls, in order. */
  readonly calls: string[] = []
  /** Calls of the feed that ran at the same time, at most. */
  mostAtOnce = 0
  /** Before each call. May wait, and may throw. */
  before: (call: string) => Promise<void> | void = () => {}
  readonly #leases: MemoryLeaseStore
  #running = 0

  constructor({
    maxConcurrentReads,
    ...options
  }: Omit<FakeFeedOptions, 'clock'> & { readonly maxConcurrentReads?: number } = {}) {
    const { clock } = this
    this.feed = new FakeFeed({ clock, ...options })
    const note = (call: string): Promise<void> | void => {
      this.calls.push(call)
      return this.before(call)
    }
    this.#leases = new MemoryLeaseStore({
      clock,
      hooks: { before: ({ operation }) => note(operation) },
    })
    this.estimator = new ChangeFeedEstimator<FakeDocument>({
      feed: this.#watchedFeed(),
      leases: this.#leases,
      group: 'group',
      clock,
      maxConcurrentReads,
    })
  }

  /** The leases, to write them. Calls through it are noted too. */
  openGroup(): Promise<LeaseGroup> {
    return this.#leases.openGroup('group')
  }

  /** A lease for each present range. */
  async makeLeases(start: 'beginning' | 'now' = 'beginning'): Promise<LeaseGroup> {
    const group = await this.openGroup()
    const leases = await Promise.all(
      this.feed.ranges.map(async (range) => ({
        range,
        checkpoint: await this.feed.resolveStart({ range, start }),
      })),
    )
    await group.create(leases)
    this.calls.length = 0
    return group
  }

  #watchedFeed(): ChangeFeedSource<FakeDocument> {
    const { feed } = this
    const { identity, description, supports, measureLag } = feed
    return {
      identity,
      description,
      supports,
      readFeedRanges: () => this.#noted('readFeedRanges', () => feed.readFeedRanges()),
      resolveStart: (request) => this.#noted('resolveStart', () => feed.resolveStart(request)),
      readPage: (request) => this.#noted('readPage', () => feed.readPage(request)),
      ...(measureLag && {
        measureLag: (request) => this.#noted('measureLag', () => measureLag(request)),
      }),
    }
  }

  async #noted<R>(call: string, act: () => Promise<R>): Promise<R> {
    this.calls.push(call)
    this.#running += 1
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running)
    try {
      // So that calls that are made together do run together.
      await Promise.resolve()
      await this.before(call)
      return await act()
    } finally {
      this.#running -= 1
    }
  }
}
