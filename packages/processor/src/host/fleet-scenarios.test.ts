import { describe, expect, test } from 'vitest'
import {
  LeaseStoreUnavailableError,
  feedRangeId,
  type FeedRange,
  type Lease,
  type LeaseGroup,
  type NewLease,
} from '@tidemark/contracts'
import { type Fleet, assertFleetHistory, assertNoStaleOwner } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

/*
 * The telling scenarios of the tests of the .NET and Java change feed processors, by their names there. Of those that
 * have their place elsewhere:
 *
 * - lease of a dead owner taken: fleet.test.ts, "LE-4 a killed host is replaced …"
 * - split while running: fleet-reshape.test.ts, "LE-10 PH-2 a split replaces the lease by its children …"
 * - a host that dies anywhere in a split: fleet-reshape.test.ts, "LE-10 PH-4 a host that dies …"
 */

const never = new AbortController().signal
const KEYS = Array.from({ length: 64 }, (_, index) => `key${index}`)

const newFleet = fleetsWith({ ranges: 8 }, (fleet) => {
  assertFleetHistory(fleet)
  assertNoStaleOwner(fleet)
})

function write(target: Fleet, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) target.feed.append(key)
}

/** Writes a change every `everyMs` until the returned function is called. */
function pacedWriter(target: Fleet, everyMs: number): () => Promise<void> {
  let isStopped = false
  const loop = (async () => {
    for (let count = 0; !isStopped; count += 1) {
      target.feed.append(KEYS[count % KEYS.length] ?? '')
      await target.clock.sleep(everyMs, never)
    }
  })()
  return async () => {
    isStopped = true
    await target.run(loop)
  }
}

function deliveredIds({ deliveries }: Fleet): readonly string[] {
  return deliveries.flatMap(({ changes }) => changes.map(({ id }) => id))
}

/** The group as an operator has it in hand, beside the hosts. */
async function operatorsGroup({ leases }: Fleet): Promise<LeaseGroup> {
  return leases.openGroup('group')
}

function firstRange({ feed }: Fleet): FeedRange {
  const [range] = feed.ranges
  if (range === undefined) throw new Error('the feed has ranges')
  return range
}

describe('owners', () => {
  test.each(['under load', 'idle'] as const)(
    'LE-3 LE-11 owner nulled underneath, %s: hosts work on no lease that is not theirs any more, take them anew, and nothing is lost',
    async (how) => {
      const two = newFleet({ behaviour: () => two.clock.sleep(10, never) })
      await two.start('a')
      await two.start('b')
      await two.until(() => two.isBalanced())
      const stopWriting = how === 'idle' ? undefined : pacedWriter(two, 5)
      await two.advance(500)
      const group = await operatorsGroup(two)
      const before = await group.read()
      const old = before.leases.map(({ id, epoch }) => ({ leaseId: id, epoch }))
      const next = before.leases.map(({ range, checkpoint }): NewLease => ({ range, checkpoint }))
      const freed = await group.override({ old, next })
      expect(freed).toHaveLength(8)
      expect(freed).toSatisfy((leases: readonly Lease[]) =>
        leases.every(({ owner }) => owner === undefined),
      )
      const epochs = new Map(old.map(({ leaseId, epoch }) => [leaseId, epoch]))
      const isAnew = (): boolean =>
        two.hosts
          .flatMap(({ host }) => host.health().leases)
          .every(({ leaseId, epoch }) => epoch > (epochs.get(leaseId) ?? Infinity))
      await two.until(() => two.isBalanced() && isAnew(), 2_000)
      await stopWriting?.()
      if (how === 'idle') write(two)
      await two.until(() => two.isDrained())
      const lost = two.hosts.flatMap((member) => two.eventsOf(member, 'leaseLost'))
      expect(new Set(lost.map(({ leaseId }) => leaseId)).size).toBe(8)
      // Only the batch in flight of each comes again, whose checkpoint was refused.
      expect(Math.max(1, ...two.duplicates().values())).toBe(how === 'idle' ? 1 : 2)
      await group.close()
    },
  )

  test('LE-5 two hosts share and the total is exact: of 1,000 changes each is delivered once, by either', async () => {
    const two = newFleet({ ranges: 16, behaviour: () => two.clock.sleep(1, never) })
    const members = [await two.start('a'), await two.start('b')]
    await two.until(() => two.isBalanced())
    for (let count = 0; count < 1_000; count += 1) two.feed.append(KEYS[count % KEYS.length] ?? '')
    await two.until(() => two.isDrained())
    const ids = deliveredIds(two)
    expect(ids).toHaveLength(1_000)
    expect(new Set(ids).size).toBe(1_000)
    for (const { name } of members) {
      const own = two.deliveries.filter(({ host }) => host === name)
      expect(new Set(own.map(({ leaseId }) => leaseId)).size).toBe(8)
    }
  })

  test('PH-2 PH-11 stop at full speed: opens = closes, each batch in flight is finished, and the next host repeats nothing', async () => {
    const one = newFleet({ ranges: 32, behaviour: () => one.clock.sleep(7, never) })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    const stopWriting = pacedWriter(one, 1)
    await one.advance(333)
    const inFlight = one.deliveries.filter(({ outcome }) => outcome === undefined)
    expect(inFlight.length).toBeGreaterThan(0)
    await one.stop(a)
    const count = (wanted: string): number =>
      one.calls.filter(({ call, host }) => call === wanted && host === 'a').length
    expect(count('open')).toBe(32)
    expect(count('close')).toBe(32)
    expect(new Set(one.deliveries.map(({ outcome }) => outcome))).toEqual(new Set(['done']))
    await one.start('b')
    await stopWriting()
    await one.until(() => one.isDrained())
    expect(one.duplicates().size).toBe(0)
  })

  test('LE-3 LE-5 one bad acquire does not stop the others: a lease that cannot be had is asked for again and again, the rest are worked on', async () => {
    const one = newFleet({ ranges: 4 })
    const bad = feedRangeId(firstRange(one))
    let isBad = true
    let asked = 0
    const openGroup = one.leases.openGroup.bind(one.leases)
    one.leases.openGroup = async (name, options) => {
      const group = await openGroup(name, options)
      const acquire = group.acquire.bind(group)
      group.acquire = async (request, abort) => {
        const { leaseIds } = request
        if (!isBad || !leaseIds.includes(bad)) return acquire(request, abort)
        asked += 1
        // The first answer is an error for all of them, later ones lack the one.
        if (asked === 1) throw new LeaseStoreUnavailableError('acquire: refused')
        return acquire({ ...request, leaseIds: leaseIds.filter((id) => id !== bad) }, abort)
      }
      return group
    }
    const a = await one.start('a')
    write(one)
    await one.until(() => one.counts()['a'] === 3)
    await one.advance(10_000)
    expect(one.counts()).toEqual({ a: 3 })
    expect(asked).toBeGreaterThan(3)
    const worked = new Set(one.deliveries.map(({ leaseId }) => leaseId))
    expect(worked).toEqual(new Set(one.feed.ranges.slice(1).map(feedRangeId)))
    expect(a.host.health().status).not.toBe('stopped')
    isBad = false
    await one.until(() => one.counts()['a'] === 4 && one.isDrained(), 4_000)
    expect(one.duplicates().size).toBe(0)
  })
})

describe('splits', () => {
  test('LE-10 split while running: both children go on where the parent stood, under load', async () => {
    const two = newFleet({ ranges: 2, behaviour: () => two.clock.sleep(10, never) })
    await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    const stopWriting = pacedWriter(two, 3)
    await two.advance(400)
    for (const range of two.feed.ranges) two.feed.split(range)
    await two.advance(400)
    await stopWriting()
    await two.until(() => two.coversAll() && two.matchesRanges() && two.isDrained(), 4_000)
    expect(two.counts()).toEqual({ a: 2, b: 2 })
    expect(two.duplicates().size).toBe(0)
  })

  test('LE-10 split while stopped: the host that starts next finds the lease of a range that is gone, and loses nothing', async () => {
    const one = newFleet({ ranges: 2 })
    const a = await one.start('a')
    write(one)
    await one.until(() => one.isDrained())
    await one.stop(a)
    write(one)
    // More than once, and what is split is written to before and after.
    for (const range of one.feed.ranges) one.feed.split(range)
    write(one)
    one.feed.split(firstRange(one))
    write(one)
    await one.start('b')
    await one.until(() => one.matchesRanges() && one.isDrained())
    expect(one.feed.ranges).toHaveLength(5)
    expect(one.duplicates().size).toBe(0)
    expect(deliveredIds(one)).toHaveLength(one.feed.changes.length)
  })

  test.each(['the read that tells of it', 'storing the leases of the children'] as const)(
    'LE-10 PH-10 split that fails half-way, at %s: it is tried again, and nothing is lost or repeated',
    async (step) => {
      const one = newFleet({ ranges: 1 })
      const a = await one.start('a')
      write(one)
      await one.until(() => one.isDrained())
      let failures = 0
      const fail = (error: Error): void => {
        failures += 1
        if (failures <= 3) throw error
      }
      const readPage = one.feed.readPage.bind(one.feed)
      if (step === 'the read that tells of it') {
        one.feed.readPage = (request) =>
          readPage(request).catch((error: unknown) => {
            fail(new Error('the feed does not answer'))
            throw error
          })
      } else {
        a.store.onCall = (name, when) => {
          if (name === 'replace' && when === 'before') fail(new LeaseStoreUnavailableError('no'))
        }
      }
      one.feed.split(firstRange(one))
      write(one)
      await one.until(() => one.matchesRanges() && one.isDrained(), 30_000)
      expect(failures).toBeGreaterThan(3)
      expect(one.eventsOf(a, 'rangeReplaced')).toHaveLength(1)
      expect(one.duplicates().size).toBe(0)
      expect(one.eventsOf(a, 'leaseLost')).toEqual([])
    },
  )

  test('LE-10 LE-11 children made by another host: the owner of the parent stops working on it, and the children are shared out', async () => {
    const two = newFleet({ ranges: 1, behaviour: () => two.clock.sleep(10, never) })
    const a = await two.start('a')
    await two.until(() => two.isBalanced())
    await two.start('b')
    const owner = (): string | undefined =>
      Object.entries(two.counts()).find(([, count]) => count === 1)?.[0]
    await two.until(() => owner() !== undefined)
    const stopWriting = pacedWriter(two, 5)
    await two.advance(300)
    const group = await operatorsGroup(two)
    const [parent] = (await group.read()).leases
    if (parent === undefined) throw new Error('the group has a lease')
    two.feed.split(firstRange(two))
    const { checkpoint } = parent
    // Before the owner can: as another one does that found the range gone first.
    await group.override({
      old: [{ leaseId: parent.id, epoch: parent.epoch }],
      next: two.feed.ranges.map((range) => ({ range, checkpoint })),
    })
    await two.until(() => two.coversAll() && two.matchesRanges(), 2_000)
    await stopWriting()
    await two.until(() => two.isDrained())
    expect(two.counts()).toEqual({ a: 1, b: 1 })
    const replaced = two.hosts.flatMap((member) => two.eventsOf(member, 'rangeReplaced'))
    expect(replaced).toEqual([])
    expect((await group.read()).leases).toHaveLength(2)
    expect(a.host.health().status).toBe('running')
    await group.close()
  })
})

describe('changes', () => {
  test('CF-7 PH-3 transaction never cut by a batch limit', async () => {
    const one = newFleet({ ranges: 2, feedOptions: { startFromBeginning: true, maxItemCount: 4 } })
    const sizes = new Map<string, number>()
    for (let count = 0; count < 200; count += 1) {
      const key = KEYS[count % KEYS.length] ?? ''
      const size = (count % 11) + 1
      const [first = 0] = one.feed.append(key, size)
      sizes.set(`${key}-${first}`, size)
    }
    await one.start('a')
    await one.until(() => one.isDrained())
    const batches = one.deliveries.map(({ changes }) => changes)
    expect(Math.max(...batches.map(({ length }) => length))).toBeGreaterThan(4)
    for (const changes of batches) {
      for (const change of changes) {
        const size = sizes.get(change.id)
        if (size === undefined) continue
        expect(changes.filter(({ lsn }) => lsn === change.lsn)).toHaveLength(size)
      }
      // A batch exceeds the limit only by the transaction that it ends with.
      const lastLsn = changes.at(-1)?.lsn
      expect(changes.filter(({ lsn }) => lsn !== lastLsn).length).toBeLessThan(4)
    }
    expect(one.duplicates().size).toBe(0)
  })

  test('CF-6 write right after start is not missed, by whichever of the hosts that start together', async () => {
    const many = newFleet({ feedOptions: {} })
    write(many)
    const members = ['a', 'b', 'c'].map((name) => many.create(name))
    const before = many.feed.changes.length
    const started = members.map((member) => many.register(member))
    await many.run(Promise.any(started))
    write(many)
    await many.run(Promise.all(started))
    await many.until(() => many.isBalanced())
    await many.advance(1_000)
    expect(new Set(deliveredIds(many)).size).toBe(many.feed.changes.length - before)
  })

  test('CF-6 PH-4 first batch fails before any checkpoint with start "now" and is still delivered, by the next host too', async () => {
    const one = newFleet({
      ranges: 2,
      feedOptions: {},
      behaviour: ({ hostName }) => {
        if (hostName !== 'c') throw new Error('not yet')
      },
    })
    write(one)
    const before = one.feed.changes.length
    const a = await one.start('a')
    write(one)
    await one.until(() => one.eventsOf(a, 'observerError').length > 3)
    one.kill(a)
    write(one)
    const b = await one.start('b')
    await one.until(() => one.eventsOf(b, 'observerError').length > 3)
    await one.stop(b)
    await one.start('c')
    const isDone = (): boolean => {
      const done = one.deliveries.filter(({ outcome }) => outcome === 'done')
      const ids = new Set(done.flatMap(({ changes }) => changes.map(({ id }) => id)))
      return ids.size === one.feed.changes.length - before
    }
    await one.until(isDone)
    const group = await operatorsGroup(one)
    expect(one.eventsOf(a, 'checkpointed')).toEqual([])
    expect(one.eventsOf(b, 'checkpointed')).toEqual([])
    await group.close()
  })

  test('PH-10 throttled read retried: every read is refused twice, and everything comes once, in order', async () => {
    const refused = new Map<string, number>()
    const one = newFleet({
      ranges: 4,
      feedOptions: { startFromBeginning: true, maxItemCount: 5 },
    })
    const readPage = one.feed.readPage.bind(one.feed)
    one.feed.readPage = async (request) => {
      const { minInclusive } = request.range
      const count = (refused.get(minInclusive) ?? 0) + 1
      refused.set(minInclusive, count)
      if (count % 3 !== 0) throw Object.assign(new Error('Request rate is large'), { code: 429 })
      return readPage(request)
    }
    const a = await one.start('a')
    write(one, 3)
    await one.until(() => one.isDrained(), 600_000)
    expect(one.eventsOf(a, 'feedError').length).toBeGreaterThan(2 * 4)
    for (const { error } of one.eventsOf(a, 'feedError')) expect(error).toMatchObject({ code: 429 })
    expect(one.duplicates().size).toBe(0)
    expect(one.eventsOf(a, 'leaseLost')).toEqual([])
    expect(a.host.health().leases).toHaveLength(4)
  })
})
