import { describe, expect, test } from 'vitest'
import { ResourceNotFoundError, type ChangeFeedSource, type LeaseStore } from '@tidemark/contracts'
import {
  FakeDocumentCollection,
  FakeFeed,
  type FakeDocument,
  type Fleet,
  type FleetOptions,
} from '@tidemark/testing'
import { ProcessorGroup } from '../administration/processor-group.ts'
import { DocumentLeaseStore } from '../lease-stores/documents/document-lease-store.ts'
import { ChangeFeedProcessorHost } from './change-feed-processor-host.ts'
import { fleetsWith } from './fleets.fixture.ts'
import type { FeedOptions, HostOptions } from './host-options.ts'

const newFleet = fleetsWith({ ranges: 4 })
const OTHER = { code: 'ERR_GROUP_OF_OTHER_FEED' }

const STORES: readonly { readonly name: string; readonly options: FleetOptions }[] = [
  { name: 'memory', options: {} },
  {
    name: 'documents',
    options: {
      leases: (clock): LeaseStore =>
        new DocumentLeaseStore(new FakeDocumentCollection({ clock }), { clock }),
    },
  },
]

function write(feed: FakeFeed, count = 20): void {
  for (let n = 0; n < count; n += 1) feed.append(`key${n}`)
}

/** A host of the fleet's group and lease store on another feed, with what it has seen. */
function hostOn(
  { clock, leases }: Fleet,
  feed: ChangeFeedSource<FakeDocument>,
  options: { readonly hostOptions?: HostOptions; readonly feedOptions?: FeedOptions } = {},
) {
  const seen = new Set<string>()
  const host = new ChangeFeedProcessorHost<FakeDocument>({
    group: 'group',
    feed,
    leases,
    clock,
    feedOptions: { startFromBeginning: true },
    ...options,
    logger: false,
  })
  const register = (): Promise<void> =>
    host.registerObserver(async (_, changes) => {
      for (const { id } of changes) seen.add(id)
    })
  return { host, register, seen }
}

describe.each(STORES)('a group follows one feed, with leases in $name', ({ options }) => {
  test('LE-17 a host of another feed is refused at start, by both names, and the group goes on', async () => {
    const fleet = newFleet(options)
    write(fleet.feed)
    await fleet.start('a')
    const customers = new FakeFeed({
      clock: fleet.clock,
      identity: 'rid-2',
      description: 'shop/customers',
    })
    const other = hostOn(fleet, customers)
    const refusal = expect(fleet.run(other.register())).rejects
    await refusal.toMatchObject({ ...OTHER, retryable: false })
    write(fleet.feed)
    await fleet.until(() => fleet.isDrained())
    expect(customers.positions.reports).toEqual([])
    expect(fleet.counts()).toEqual({ a: 4 })
    const again = hostOn(fleet, customers)
    await expect(fleet.run(again.register())).rejects.toThrow(
      /group "group" follows fake feed \(fake-feed\), not shop\/customers \(rid-2\).*leases reset --group group.*discardExistingLeases/,
    )
  })

  test('LE-17 of two that start a group at once with different feeds one is refused', async () => {
    const fleet = newFleet(options)
    const feeds = [1, 2].map((n) => new FakeFeed({ clock: fleet.clock, identity: `rid-${n}` }))
    const hosts = feeds.map((feed) => hostOn(fleet, feed))
    const outcomes = await fleet.run(Promise.allSettled(hosts.map(({ register }) => register())))
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await fleet.run(Promise.all(hosts.map(({ host }) => host.unregisterObservers())))
  })

  test('LE-17 a feed is not followed by a group whose start at it was refused', async () => {
    const fleet = newFleet(options)
    const { leases, clock } = fleet
    const other = new FakeFeed({ clock, identity: 'rid-2' })
    const wrong = hostOn(fleet, other, { feedOptions: { startContinuation: 'of another' } })
    await expect(fleet.run(wrong.register())).rejects.toMatchObject({
      code: 'ERR_INVALID_CONTINUATION',
    })
    await using group = new ProcessorGroup({ leases, group: 'group', feed: other, clock })
    const position = { range: '-FF', continuation: 'of another', lsn: 1 }
    const snapshot = { format: 'tidemark-positions-1', group: 'group', takenAtMs: 0 } as const
    await expect(
      fleet.run(group.restore({ ...snapshot, positions: [position] })),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_CONTINUATION' })
    write(fleet.feed)
    await fleet.start('a')
    await fleet.until(() => fleet.isDrained())
  })

  test('LE-17 a collection that was created again takes over no position: its group begins when it is told to', async () => {
    const fleet = newFleet(options)
    write(fleet.feed)
    const before = await fleet.start('a')
    await fleet.until(() => fleet.isDrained())
    await fleet.stop(before)
    const again = new FakeFeed({ clock: fleet.clock, identity: 'rid-again' })
    write(again)
    await expect(fleet.run(hostOn(fleet, again).register())).rejects.toThrow(
      /follows an earlier fake feed \(fake-feed\), which was dropped/,
    )
    // No LSN of the old one counts as read in the new one: pending deletes would be purged for it.
    expect(again.positions.reports).toEqual([])
    const begun = hostOn(fleet, again, { hostOptions: { discardExistingLeases: 'new orders' } })
    await fleet.run(begun.register())
    await fleet.until(() => begun.seen.size === 20)
    await fleet.run(begun.host.unregisterObservers())
    const restarted = hostOn(fleet, again, { hostOptions: { discardExistingLeases: 'new orders' } })
    await fleet.run(restarted.register())
    write(again)
    await fleet.until(() => restarted.seen.size === 20)
    await fleet.run(restarted.host.unregisterObservers())
  })

  test('LE-17 a host whose group is moved to another feed stops, and says so', async () => {
    const fleet = newFleet(options)
    const host = await fleet.start('a')
    const group = await fleet.leases.openGroup('group')
    const feed = { rid: 'rid-2', name: 'shop/customers' }
    expect(await group.claimFeed?.(feed, { insteadOf: 'fake-feed' })).toEqual(feed)
    await fleet.until(() => host.host.health().status === 'stopped')
    expect(host.host.health().lastError).toMatchObject({ ...OTHER, follows: feed })
  })

  test('LE-17 a collection that is created again under hosts: an operator moves the group, whoever reads the old one stops', async () => {
    let isDropped = false
    const fleet = newFleet({
      ...options,
      beforeRead: () => {
        if (isDropped) throw new ResourceNotFoundError('collection', 'orders')
      },
    })
    write(fleet.feed, 40)
    const old = [await fleet.start('a'), await fleet.start('b')]
    await fleet.until(() => fleet.isDrained() && fleet.isBalanced())
    isDropped = true
    const again = new FakeFeed({ clock: fleet.clock, ranges: 2, identity: 'rid-again' })
    write(again, 10)
    await fleet.advance(5_000)
    expect(again.positions.reports).toEqual([])
    const { leases, clock } = fleet
    await using group = new ProcessorGroup({ leases, group: 'group', feed: again, clock })
    await expect(fleet.run(group.seek({ to: 'beginning' }))).rejects.toMatchObject(OTHER)
    const part = { ranges: again.ranges.slice(0, 1), ofOtherFeed: 'move' } as const
    await expect(fleet.run(group.seek({ to: 'now', ...part }))).rejects.toMatchObject(OTHER)
    const moved = await fleet.run(group.seek({ to: 'beginning', ofOtherFeed: 'move' }))
    expect(moved.every(({ fromLsn, toLsn }) => fromLsn === undefined && toLsn === 0)).toBe(true)
    await fleet.until(() => old.every(({ host }) => host.health().status === 'stopped'))
    for (const { host } of old) expect(host.health().lastError).toMatchObject(OTHER)
    const fresh = hostOn(fleet, again)
    await fleet.run(fresh.register())
    await fleet.until(() => fresh.seen.size === 10)
    await fleet.run(fresh.host.unregisterObservers())
    const newest = Math.max(...again.changes.map(({ lsn }) => lsn))
    const told = again.positions.reports.flat().filter((one) => one.group === 'group')
    expect(told.length).toBeGreaterThan(0)
    expect(told.filter(({ lsn }) => lsn > newest)).toEqual([])
  })

  test('LE-17 leases of an older release tell by their positions what they are of, and the first host notes it', async () => {
    const fleet = newFleet(options)
    const feed = new FakeFeed({ clock: fleet.clock, identity: 'rid-1' })
    const old = hostOn(fleet, older(feed))
    await fleet.run(old.register())
    await fleet.run(old.host.unregisterObservers())
    const group = await fleet.leases.openGroup('group')
    expect((await group.read()).feed).toBeUndefined()
    const other = new FakeFeed({ clock: fleet.clock, identity: 'rid-2' })
    await expect(fleet.run(hostOn(fleet, other).register())).rejects.toThrow(
      /follows another collection \(rid-1\), perhaps one that was dropped/,
    )
    expect((await group.read()).feed).toBeUndefined()
    const own = hostOn(fleet, feed)
    await fleet.run(own.register())
    expect((await group.read()).feed).toEqual({ rid: 'rid-1', name: 'fake feed' })
    await fleet.run(own.host.unregisterObservers())
  })
})

/** A feed that does not know its `_rid`. */
function older(feed: FakeFeed): ChangeFeedSource<FakeDocument> {
  return {
    identity: feed.identity,
    description: feed.description,
    supports: feed.supports,
    positions: feed.positions,
    readFeedRanges: () => feed.readFeedRanges(),
    resolveStart: (request) => feed.resolveStart(request),
    readPage: (request) => feed.readPage(request),
    ...(feed.positionAt && { positionAt: feed.positionAt }),
    ...(feed.waitForChanges && { waitForChanges: feed.waitForChanges }),
  }
}
