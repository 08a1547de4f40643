import {
  LeaseStoreUnavailableError,
  errorCode,
  feedRangeId,
  type FeedRange,
  type HostProfile,
  type LeaseGroup,
} from '@tidemark/contracts'
import { FakeDocumentCollection, Fleet, type FakeFeed } from '@tidemark/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { DocumentLeaseStore } from '../lease-stores/documents/document-lease-store.ts'
import { ChangeFeedEstimator } from './change-feed-estimator.ts'
import { WatchedGroup } from './watched-group.fixture.ts'

const KEYS = Array.from({ length: 40 }, (_, n) => `key-${n}`)

/** One change of each of so many keys. */
function fill(feed: FakeFeed, changes: number): void {
  for (let n = 0; n < changes; n += 1) feed.append(KEYS[n % KEYS.length] ?? '')
}

/** Changes of the feed that lie in a range, and above an LSN. */
function countIn(feed: FakeFeed, range: FeedRange, afterLsn = 0): number {
  const index = feed.ranges.findIndex((each) => feedRangeId(each) === feedRangeId(range))
  return feed.changesOf(index).filter(({ lsn }) => lsn > afterLsn).length
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => 'none',
    (error: unknown) => errorCode(error) ?? String(error),
  )
}

describe('without a host', () => {
  test('PH-9 it tells of each range what is left, exactly, and in total; nothing of the leases changes', async () => {
    const watched = new WatchedGroup({ ranges: 4 })
    const group = await watched.makeLeases()
    fill(watched.feed, 60)
    const before = await group.read()
    await watched.clock.advance(5_000)
    const estimate = await watched.estimator.estimate()
    expect(estimate).toMatchObject({
      group: 'group',
      feed: 'fake feed',
      paused: false,
      hosts: [],
      remainingChanges: 60,
      isExact: true,
      lsnDistance: 60,
      caughtUp: false,
    })
    expect(estimate.leases.map(({ range }) => range)).toEqual(watched.feed.ranges)
    for (const lease of estimate.leases) {
      const count = countIn(watched.feed, lease.range)
      expect(lease).toMatchObject({
        state: 'unowned',
        owner: undefined,
        epoch: 0,
        checkpointLsn: 0,
        newestLsn: count,
        lsnDistance: count,
        remainingChanges: count,
        isExact: true,
        problem: undefined,
        attempts: undefined,
      })
    }
    expect(estimate.oldestChangeAgeMs).toBeGreaterThanOrEqual(5_000)
    expect(estimate.oldestChangeAgeMs).toBeLessThan(6_000)
    expect(await group.read()).toEqual(before)
  })

  test('PH-9 a group that has done everything has nothing left, and no age', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    fill(watched.feed, 10)
    await watched.makeLeases('now')
    await watched.clock.advance(60_000)
    expect(await watched.estimator.estimate()).toMatchObject({
      remainingChanges: 0,
      isExact: true,
      lsnDistance: 0,
      oldestChangeAgeMs: 0,
      caughtUp: true,
    })
  })

  test('PH-9 it costs one read of the leases, one of the ranges, and one call a range, a few at a time', async () => {
    const watched = new WatchedGroup({ ranges: 12, maxConcurrentReads: 3 })
    await watched.makeLeases()
    await watched.estimator.estimate()
    const calls = (name: string): number => watched.calls.filter((call) => call === name).length
    expect(watched.calls).toHaveLength(15)
    expect([calls('openGroup'), calls('read'), calls('readFeedRanges')]).toEqual([1, 1, 1])
    expect(calls('measureLag')).toBe(12)
    expect(watched.mostAtOnce).toBe(3)
    await watched.estimator.estimate()
    // The group stays open.
    expect(watched.calls).toHaveLength(15 + 14)
  })

  test('PH-9 what it counts is bounded, and says so', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    await watched.makeLeases()
    fill(watched.feed, 60)
    const { leases, ...total } = await watched.estimator.estimate({ limit: 5 })
    expect(leases.map((lease) => [lease.remainingChanges, lease.isExact])).toEqual([
      [5, false],
      [5, false],
    ])
    expect(total).toMatchObject({ remainingChanges: 10, isExact: false, lsnDistance: 60 })
  })

  test('PH-9 a feed that can only be read is asked for its newest LSN and one change a range', async () => {
    const watched = new WatchedGroup({ ranges: 3, measuring: false })
    await watched.makeLeases()
    fill(watched.feed, 30)
    await watched.clock.advance(2_000)
    const estimate = await watched.estimator.estimate()
    expect(watched.calls.toSorted()).toEqual(
      [
        'openGroup',
        'read',
        'readFeedRanges',
        ...['readPage', 'resolveStart'].flatMap((call) => [call, call, call]),
      ].toSorted(),
    )
    for (const lease of estimate.leases) {
      expect(lease).toMatchObject({ remainingChanges: 1, isExact: false })
      expect(lease.lsnDistance).toBe(countIn(watched.feed, lease.range))
      expect(lease.oldestChangeAgeMs).toBeGreaterThanOrEqual(2_000)
    }
    const done = new WatchedGroup({ ranges: 3, measuring: false })
    fill(done.feed, 30)
    await done.makeLeases('now')
    expect(await done.estimator.estimate()).toMatchObject({
      remainingChanges: 0,
      isExact: true,
      caughtUp: true,
      oldestChangeAgeMs: 0,
    })
  })

  test('PH-9 a group without leases has not caught up with anything', async () => {
    const watched = new WatchedGroup()
    fill(watched.feed, 3)
    expect(await watched.estimator.estimate()).toMatchObject({
      leases: [],
      remainingChanges: 0,
      caughtUp: false,
    })
    expect(watched.calls).toEqual(['openGroup', 'read'])
  })
})

describe('ranges that change', () => {
  test('PH-9 ST-9 a lease whose range was split since covers the parts of both children', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    const [low, high] = watched.feed.ranges
    await watched.makeLeases()
    fill(watched.feed, 40)
    const [before] = (await watched.estimator.estimate()).leases
    watched.feed.split(low!)
    fill(watched.feed, 40)
    const { leases, remainingChanges } = await watched.estimator.estimate()
    expect(leases.map(({ range }) => range)).toEqual([low, high])
    const children = watched.feed.ranges.slice(0, 2)
    const counts = children.map((child) => countIn(watched.feed, child))
    expect(Math.min(...counts)).toBeGreaterThan(0)
    expect(leases[0]).toMatchObject({
      remainingChanges: (counts[0] ?? 0) + (counts[1] ?? 0),
      isExact: true,
    })
    expect(leases[0]?.remainingChanges).toBe(2 * (before?.remainingChanges ?? 0))
    expect(remainingChanges).toBe(80)
  })

  test('PH-9 ST-9 after a merge each lease is measured in its own part', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    const parts = watched.feed.ranges
    await watched.makeLeases()
    fill(watched.feed, 40)
    const counts = parts.map((part) => countIn(watched.feed, part))
    watched.feed.merge(parts[0]!)
    const { leases } = await watched.estimator.estimate()
    expect(leases.map((lease) => lease.remainingChanges)).toEqual(counts)
  })

  test('PH-9 ST-9 a range that is split during the estimate is measured again', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    await watched.makeLeases()
    fill(watched.feed, 30)
    let splits = 0
    watched.before = (call) => {
      if (call === 'measureLag' && splits < 2 && watched.feed.split(watched.feed.ranges[0]!)) {
        splits += 1
      }
    }
    expect(await watched.estimator.estimate()).toMatchObject({
      remainingChanges: 30,
      isExact: true,
    })
    expect(splits).toBe(2)
    expect(watched.feed.ranges).toHaveLength(4)
  })

  test('ranges that never come to rest are told of in the end', async () => {
    const watched = new WatchedGroup({ ranges: 1 })
    await watched.makeLeases()
    let isFirst = false
    watched.before = (call) => {
      if (call === 'measureLag' && isFirst) watched.feed.split(watched.feed.ranges[0]!)
      isFirst = call === 'readFeedRanges'
    }
    expect(await codeOf(watched.estimator.estimate())).toBe('ERR_RANGE_GONE')
    expect(watched.feed.ranges).toHaveLength(11)
  })

  test('PH-9 of children that do not carry their parent’s changes a parent’s position says nothing', async () => {
    const watched = new WatchedGroup({ ranges: 2, childrenCarryParentChanges: false })
    const [low] = watched.feed.ranges
    await watched.makeLeases()
    fill(watched.feed, 20)
    const high = countIn(watched.feed, watched.feed.ranges[1]!)
    watched.feed.split(low!)
    const estimate = await watched.estimator.estimate()
    expect(estimate.leases).toMatchObject([
      { problem: 'rangeGone', remainingChanges: 0, isExact: false, oldestChangeAgeMs: undefined },
      { problem: undefined, remainingChanges: high, isExact: true },
    ])
    expect(estimate).toMatchObject({ isExact: false, caughtUp: false })
  })
})

describe('what cannot be measured', () => {
  for (const measuring of [true, false]) {
    const way = measuring ? 'a feed that measures' : 'a feed that can only be read'
    test(`PH-9 TTL-15 a range whose purges the group has missed is told of, the others go on: ${way}`, async () => {
      const watched = new WatchedGroup({ ranges: 2, measuring })
      const [low] = watched.feed.ranges
      await watched.makeLeases('now')
      fill(watched.feed, 20)
      watched.feed.passHorizon(low!)
      const { leases, isExact, caughtUp } = await watched.estimator.estimate()
      const counts = watched.feed.ranges.map((range) => countIn(watched.feed, range))
      // What is still there of it.
      expect(leases[0]).toMatchObject({
        problem: 'horizonPassed',
        newestLsn: counts[0],
        remainingChanges: measuring ? counts[0] : 1,
        isExact: false,
      })
      expect(leases[1]).toMatchObject({ problem: undefined, isExact: measuring })
      expect([isExact, caughtUp]).toEqual([false, false])
    })
  }

  test('PH-9 a position that is none of this feed is told of', async () => {
    const watched = new WatchedGroup({ ranges: 1 })
    const other = new WatchedGroup({ ranges: 1, identity: 'other' })
    fill(watched.feed, 5)
    const range = watched.feed.ranges[0]!
    const checkpoint = await other.feed.resolveStart({ range, start: 'now' })
    const group = await watched.openGroup()
    await group.create([{ range, checkpoint }])
    const { leases, caughtUp } = await watched.estimator.estimate()
    expect(leases).toMatchObject([{ problem: 'invalidPosition', newestLsn: 5, isExact: false }])
    expect(caughtUp).toBe(false)
  })

  test('PH-9 a lease store or a feed that fails is an error, and the next estimate tries again', async () => {
    const watched = new WatchedGroup({ ranges: 3 })
    await watched.makeLeases()
    fill(watched.feed, 6)
    for (const failing of ['openGroup', 'read', 'readFeedRanges', 'measureLag']) {
      watched.before = (call) => {
        if (call === failing) throw new LeaseStoreUnavailableError(`${call} fails`)
      }
      expect(await codeOf(watched.estimator.estimate())).toBe('ERR_LEASE_STORE_UNAVAILABLE')
      expect(watched.calls).toContain(failing)
    }
    watched.before = () => {}
    expect(await watched.estimator.estimate()).toMatchObject({ remainingChanges: 6 })
  })

  test('one that gives up does not end another that looks at the same time', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    await watched.makeLeases()
    const abort = new AbortController()
    const reason = new Error('enough')
    let opens = 0
    watched.before = (call) => {
      if (call !== 'openGroup' || opens++ > 0) return
      abort.abort(reason)
      throw reason
    }
    const { signal } = abort
    const both = [watched.estimator.estimate({ signal }), watched.estimator.estimate()] as const
    const [first, second] = await Promise.allSettled(both)
    expect(first).toMatchObject({ status: 'rejected', reason })
    expect(second).toMatchObject({ status: 'fulfilled' })
    expect(opens).toBe(2)
  })

  test('a signal ends it, and bad options are refused', async () => {
    const watched = new WatchedGroup({ ranges: 2 })
    await watched.makeLeases()
    const abort = new AbortController()
    const reason = new Error('enough')
    watched.before = () => abort.abort(reason)
    const { signal } = abort
    await expect(watched.estimator.estimate({ signal })).rejects.toBe(reason)
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      expect(await codeOf(watched.estimator.estimate({ limit }))).toBe('ERR_INVALID_OPTION')
    }
    const { feed } = watched
    const leases = new Fleet().leases
    for (const bad of [{ maxConcurrentReads: 0 }, { group: '' }]) {
      expect(() => new ChangeFeedEstimator({ group: 'g', feed, leases, ...bad })).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
      )
    }
  })
})

describe('attempts', () => {
  test('PH-9 PH-7 tries that failed show with the lease', async () => {
    const watched = new WatchedGroup({ ranges: 1 })
    const group = await watched.makeLeases()
    const identity = { host: 'worker', incarnation: 'one' }
    await join(group, identity)
    const [held] = await acquireAll(group, identity)
    const { leaseId = '', epoch = 0 } = held ?? {}
    const checkpoint = { ...held!.lease.checkpoint, attempts: { count: 3, size: 10 } }
    await group.checkpoint({ ...identity, checkpoints: [{ leaseId, epoch, checkpoint }] })
    const { leases } = await watched.estimator.estimate()
    expect(leases).toMatchObject([{ attempts: { count: 3, size: 10 }, state: 'owned' }])
  })
})

describe('modes', () => {
  test('PH-9 CF-11 it reads as the group does, unless it is told', async () => {
    const watched = new WatchedGroup({ ranges: 1 })
    const range = watched.feed.ranges[0]!
    const start = 'beginning'
    const checkpoint = await watched.feed.resolveStart({ range, start, mode: 'allVersions' })
    const group = await watched.openGroup()
    await group.create([{ range, checkpoint }])
    fill(watched.feed, 5)
    const { leases } = await watched.estimator.estimate()
    expect(leases).toMatchObject([{ remainingChanges: 5, isExact: true, problem: undefined }])
    const { feed, clock } = watched
    const openGroup = () => Promise.resolve(group)
    const store = { description: '', openGroup, listGroups: async () => ['group'] }
    const wrong = new ChangeFeedEstimator({
      group: 'g',
      feed,
      leases: store,
      clock,
      mode: 'latestVersion',
    })
    expect((await wrong.estimate()).leases).toMatchObject([{ problem: 'invalidPosition' }])
  })
})

describe('beside a fleet', () => {
  const fleets: Fleet[] = []
  afterEach(async () => {
    for (const fleet of fleets.splice(0)) await fleet.end()
  })
  const start = (options: ConstructorParameters<typeof Fleet>[0]): Fleet => {
    const fleet = new Fleet(options)
    fleets.push(fleet)
    return fleet
  }
  const estimatorOf = ({ feed, leases, clock }: Fleet) =>
    new ChangeFeedEstimator({ feed, leases, clock, group: 'group' })

  test('PH-9 it names the owners, and what falls behind while an observer hangs', async () => {
    const hang = Promise.withResolvers<void>()
    const fleet = start({ ranges: 4, feedOptions: { startFromBeginning: true } })
    await fleet.start('a')
    await fleet.start('b')
    await fleet.until(() => fleet.isBalanced())
    const estimator = estimatorOf(fleet)
    const idle = await estimator.estimate()
    expect(idle).toMatchObject({ hosts: ['a', 'b'], caughtUp: true, remainingChanges: 0 })
    expect(idle.leases.map(({ owner }) => String(owner)).sort()).toEqual(['a', 'a', 'b', 'b'])
    for (const { state } of idle.leases) expect(state).toBe('owned')

    fleet.behaviour = ({ hostName }) => (hostName === 'a' ? hang.promise : undefined)
    fill(fleet.feed, 40)
    const ofHost = async (host: string): Promise<number> =>
      (await estimator.estimate()).leases
        .filter(({ owner }) => owner === host)
        .reduce((sum, { remainingChanges }) => sum + remainingChanges, 0)
    await fleet.advance(3_000)
    expect(await ofHost('b')).toBe(0)
    expect(await ofHost('a')).toBeGreaterThan(5)
    expect((await estimator.estimate()).oldestChangeAgeMs).toBeGreaterThanOrEqual(3_000)
    hang.resolve()
    await fleet.until(() => fleet.isDrained())
    await fleet.advance(1_000)
    expect(await estimator.estimate()).toMatchObject({ caughtUp: true })
  })

  test('PH-9 keys whose lease somebody deleted are missing, measured from where the feed knows that the group stood', async () => {
    let collection: FakeDocumentCollection | undefined
    const fleet = start({
      ranges: 4,
      feedOptions: { startFromBeginning: true },
      leases: (clock) => {
        collection = new FakeDocumentCollection({ clock })
        return new DocumentLeaseStore(collection, { clock })
      },
    })
    const { host } = await fleet.start('a')
    fill(fleet.feed, 40)
    await fleet.until(() => fleet.isDrained())
    await fleet.advance(3_000)
    await fleet.run(host.unregisterObservers())
    const [first] = fleet.feed.ranges
    const struck = [...collection!.snapshot().values()].find(
      (one) => 'leaseId' in one && one['leaseId'] === feedRangeId(first!),
    )
    await collection!.delete(struck!.id, 'group')
    const before = countIn(fleet.feed, first!)
    fill(fleet.feed, 40)
    const { leases, caughtUp } = await estimatorOf(fleet).estimate()
    expect(caughtUp).toBe(false)
    expect(leases).toHaveLength(4)
    expect(leases[0]).toMatchObject({
      range: first,
      state: 'missing',
      problem: 'leaseMissing',
      checkpointLsn: before,
      remainingChanges: before,
    })
    expect(leases.slice(1).map(({ state }) => state)).toEqual(['unowned', 'unowned', 'unowned'])
  })

  test('PH-9 a fleet that died is silent, though no host is left that could say so', async () => {
    const fleet = start({ ranges: 2 })
    const only = await fleet.start('only')
    await fleet.until(() => fleet.isBalanced())
    const estimator = estimatorOf(fleet)
    fleet.kill(only)
    await fleet.advance(10_000)
    const soon = await estimator.estimate()
    expect(soon.leases).toMatchObject([
      { state: 'owned', owner: 'only' },
      { state: 'owned', owner: 'only' },
    ])
    await fleet.advance(20_000)
    const { leases } = await estimator.estimate()
    expect(leases).toMatchObject([
      { state: 'silent', owner: 'only' },
      { state: 'silent', owner: 'only' },
    ])
    await fleet.start('next')
    await fleet.until(() => fleet.counts()['next'] === 2)
    const after = await estimator.estimate()
    expect(after.hosts).toEqual(['next'])
    for (const { state, owner } of after.leases) expect([state, owner]).toEqual(['owned', 'next'])
  })

  test('PH-9 LE-6 a fleet that left is unowned, one that is paused is paused', async () => {
    const fleet = start({ ranges: 2 })
    const first = await fleet.start('first')
    await fleet.until(() => fleet.isBalanced())
    const estimator = estimatorOf(fleet)
    const states = async () => (await estimator.estimate()).leases.map(({ state }) => state)
    const group = await fleet.leases.openGroup('group')
    await group.setPaused(true)
    await fleet.until(() => fleet.counts()['first'] === 0)
    expect(await states()).toEqual(['paused', 'paused'])
    expect(await estimator.estimate()).toMatchObject({ paused: true, hosts: ['first'] })
    await group.setPaused(false)
    await fleet.until(() => fleet.isBalanced())
    expect(await states()).toEqual(['owned', 'owned'])
    await fleet.stop(first)
    expect(await states()).toEqual(['unowned', 'unowned'])
  })
})

const PROFILE: HostProfile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }

async function join(
  group: LeaseGroup,
  identity: { readonly host: string; readonly incarnation: string },
): Promise<void> {
  const intent = 'join'
  await group.sync({ ...identity, intent, profile: PROFILE, ttlMs: 8_000, clockCapMs: 2_000 })
}

async function acquireAll(
  group: LeaseGroup,
  identity: { readonly host: string; readonly incarnation: string },
): ReturnType<LeaseGroup['acquire']> {
  const { leases, membershipVersion } = await group.read()
  const targets = new Map(leases.map(({ id }) => [id, identity.host]))
  await group.plan({ membershipVersion, targets })
  return group.acquire({ ...identity, leaseIds: leases.map(({ id }) => id) })
}
