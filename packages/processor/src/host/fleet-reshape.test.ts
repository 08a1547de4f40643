import { describe, expect, test } from 'vitest'
import type { FeedRange } from '@tidemark/contracts'
import { type Fleet, assertFleetHistory } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const TTL_MS = 8_000
const never = new AbortController().signal

const newFleet = fleetsWith({ ranges: 2 })

const KEYS = Array.from({ length: 64 }, (_, index) => `key${index}`)

function write(target: Fleet, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) target.feed.append(key)
}

function firstRange({ feed }: Fleet): FeedRange {
  const [range] = feed.ranges
  if (range === undefined) throw new Error('the feed has ranges')
  return range
}

async function storedLeaseIds(target: Fleet): Promise<string[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ id }) => id)
}

describe('splits', () => {
  test('LE-10 PH-2 a split replaces the lease by its children, and without a fault nothing is lost or repeated', async () => {
    const one = newFleet({ behaviour: () => one.clock.sleep(20, never) })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one, 3)
    await one.advance(30)
    const range = firstRange(one)
    one.feed.split(range)
    write(one, 3)
    await one.until(() => one.matchesRanges() && one.isDrained(), 2_000)
    expect(one.duplicates().size).toBe(0)
    expect(await storedLeaseIds(one)).toHaveLength(3)
    const [replaced] = one.eventsOf(a, 'rangeReplaced')
    expect(replaced?.next).toHaveLength(2)
    for (const child of replaced?.next ?? []) {
      expect(child.epoch).toBeGreaterThan(replaced?.epoch ?? Infinity)
    }
    const closes = one.calls.filter(({ call }) => call === 'close')
    expect(closes.map(({ reason }) => reason)).toEqual(['rangeGone'])
    expect(one.eventsOf(a, 'leaseLost')).toEqual([])
  })

  test('LE-10 LE-5 the children are shared out anew', async () => {
    const two = newFleet({ ranges: 1 })
    await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    two.feed.split(firstRange(two))
    await two.until(() => two.coversAll() && two.matchesRanges(), 2_000)
    expect(Object.values(two.counts())).toEqual([1, 1])
    write(two)
    await two.until(() => two.isDrained())
    expect(two.duplicates().size).toBe(0)
  })

  test('LE-10 splits that come faster than leases are replaced, and a range split into 64 at once', async () => {
    const one = newFleet({ ranges: 1 })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    for (let round = 0; round < 6; round += 1) {
      for (const range of one.feed.ranges) one.feed.split(range)
      // Before the next pumps have started, and in the midst of their start.
      if (round % 2 === 1) await one.advance(1)
    }
    write(one)
    await one.until(() => one.matchesRanges() && one.isDrained(), 10_000)
    expect(one.feed.ranges).toHaveLength(64)
    expect(one.duplicates().size).toBe(0)
    expect(one.eventsOf(a, 'leaseLost')).toEqual([])
  })

  test('LE-10 a lost answer: the replacement is asked for again, and nothing is repeated', async () => {
    const one = newFleet()
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    await one.until(() => one.isDrained())
    a.store.link = 'deaf'
    one.feed.split(firstRange(one))
    write(one)
    await one.advance(500)
    expect(a.store.calls.filter((call) => call === 'replace').length).toBeGreaterThan(1)
    a.store.link = 'up'
    await one.until(() => one.matchesRanges() && one.isDrained(), 4_000)
    expect(a.store.calls.filter((call) => call === 'replace').length).toBeLessThan(12)
    expect(one.eventsOf(a, 'rangeReplaced')).toHaveLength(1)
  })

  test('LE-10 LE-11 a session that was fenced meanwhile replaces nothing, and the next owner does', async () => {
    const two = newFleet({ ranges: 1 })
    const a = await two.start('a')
    await two.until(() => two.isBalanced())
    const b = await two.start('b')
    await two.advance(1_000)
    const owner = two.counts()['a'] === 1 ? a : b
    const other = owner === a ? b : a
    owner.store.link = 'down'
    two.feed.split(firstRange(two))
    await two.advance(500)
    owner.gate.freeze()
    await two.until(() => two.counts()[other.name] === 2, 2 * TTL_MS)
    write(two)
    await two.until(() => two.isDrained())
    owner.store.link = 'up'
    owner.gate.thaw()
    await two.until(() => two.coversAll() && two.matchesRanges())
    expect(two.eventsOf(other, 'rangeReplaced')).toHaveLength(1)
    expect(two.eventsOf(owner, 'rangeReplaced')).toEqual([])
    expect(two.duplicates().size).toBe(0)
  })

  test('LE-10 LE-12 a lease that is being handed over when its range splits goes over, children and all', async () => {
    const two = newFleet({ ranges: 2, behaviour: () => two.clock.sleep(300, never) })
    await two.start('a')
    await two.until(() => two.isBalanced())
    write(two)
    await two.advance(10)
    // Both leases of `a` have a batch in flight: one of them is to go to `b`.
    const joining = two.start('b')
    for (const range of two.feed.ranges) two.feed.split(range)
    await joining
    write(two)
    await two.until(() => two.coversAll() && two.matchesRanges() && two.isDrained(), 10_000)
    expect(two.counts()).toEqual({ a: 2, b: 2 })
    expect(two.duplicates().size).toBe(0)
  })

  test('LE-10 a host that leaves while its leases are replaced leaves the children to others', async () => {
    const two = newFleet({ ranges: 2 })
    const a = await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    write(two)
    for (const range of two.feed.ranges) two.feed.split(range)
    const leaving = two.stop(a)
    write(two)
    await leaving
    await two.until(() => two.counts()['b'] === 4 && two.isDrained(), 4_000)
    expect(two.duplicates().size).toBe(0)
  })

  test('LE-10 a range that splits while a host makes the first leases: they are made for its parts', async () => {
    const one = newFleet({ ranges: 2 })
    let left = 3
    const resolveStart = one.feed.resolveStart.bind(one.feed)
    one.feed.resolveStart = (request) => {
      if (left > 0) one.feed.split(request.range)
      left -= 1
      return resolveStart(request)
    }
    write(one)
    await one.start('a')
    await one.until(() => one.matchesRanges() && one.isDrained())
    expect(one.feed.ranges.length).toBeGreaterThan(3)
  })

  test('LE-10 a feed whose children begin at the split keeps its lease as it is', async () => {
    const one = newFleet({ ranges: 1, childrenCarryParentChanges: false })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    one.feed.split(firstRange(one))
    await one.until(() => one.eventsOf(a, 'rangeGone').length === 1)
    await one.advance(30_000)
    expect(a.host.health().leases.map(({ state }) => state)).toEqual(['rangeGone'])
    expect(await storedLeaseIds(one)).toHaveLength(1)
  })

  test.each(['before', 'after'] as const)(
    'LE-10 PH-4 a host that dies %s each of the store calls around a split costs no change',
    async (when) => {
      const died = new Set<string>()
      for (let step = 0; step < 14; step += 1) {
        const two = newFleet({
          ranges: 1,
          feedOptions: { startFromBeginning: true, maxItemCount: 8 },
        })
        const a = await two.start('a')
        await two.until(() => two.isBalanced())
        await two.start('b')
        await two.advance(1_000)
        const owner = two.counts()['a'] === 1 ? a : two.hosts[1]!
        write(two)
        const from = owner.store.calls.length
        owner.store.onCall = (operation, at) => {
          if (at !== when || owner.store.calls.length - from !== step) return
          died.add(operation)
          two.kill(owner)
        }
        two.feed.split(firstRange(two))
        write(two)
        await two.until(() => two.coversAll() && two.matchesRanges() && two.isDrained(), 40_000)
        // Two batches of each of the two children at most, or of their parent.
        expect(two.duplicates().size).toBeLessThanOrEqual(2 * 2 * 8)
        assertFleetHistory(two)
        await two.end()
      }
      expect(died).toContain('replace')
      expect(died).toContain('checkpoint')
    },
  )
})

describe('merges', () => {
  test('LE-10 a merge changes no lease at first, then neighbours of one host become one, and nothing is repeated', async () => {
    const one = newFleet({ ranges: 4 })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    one.feed.merge(firstRange(one))
    write(one)
    await one.until(() => one.isDrained(), 500)
    expect(one.counts()).toEqual({ a: 4 })
    expect(one.eventsOf(a, 'rangeGone')).toEqual([])
    await one.until(() => one.matchesRanges(), 20_000)
    const [joined] = one.eventsOf(a, 'leasesJoined')
    expect(joined?.old).toHaveLength(2)
    for (const { epoch } of joined?.old ?? []) expect(joined?.epoch).toBeGreaterThan(epoch)
    write(one)
    await one.until(() => one.isDrained(), 500)
    expect(one.duplicates().size).toBe(0)
    expect(await storedLeaseIds(one)).toHaveLength(3)
  })

  test('leases are joined under load too, in a moment when both stand at one place, and lose nothing', async () => {
    const one = newFleet({ ranges: 4, behaviour: () => one.clock.sleep(5, never) })
    await one.start('a')
    await one.until(() => one.isBalanced())
    for (let round = 0; one.feed.ranges.length > 1; round += 1) one.feed.merge(firstRange(one))
    for (let round = 0; round < 400; round += 1) {
      one.feed.append(KEYS[(round * 7) % KEYS.length]!)
      await one.advance(round % 5 === 0 ? 300 : 40)
    }
    await one.until(() => one.matchesRanges() && one.isDrained())
    expect(one.duplicates().size).toBe(0)
  })

  test.each(['a batch that was processed', 'a batch that is in flight'])(
    'nothing is joined over %s while the feed was asked',
    async (what) => {
      let answers = 0
      const one = newFleet({
        ranges: 2,
        behaviour: () => (what.endsWith('processed') ? undefined : one.clock.sleep(50, never)),
        afterJoin: async () => {
          answers += 1
          if (answers > 2) return
          write(one)
          await one.clock.sleep(30, never)
        },
      })
      const a = await one.start('a')
      await one.until(() => one.isBalanced())
      one.feed.merge(firstRange(one))
      await one.until(() => answers === 2, 400_000)
      await one.advance(100)
      expect(one.eventsOf(a, 'leasesJoined')).toEqual([])
      await one.until(() => one.matchesRanges() && one.isDrained(), 400_000)
      expect(one.duplicates().size).toBe(0)
    },
  )

  test('neighbours that were not merged are left alone, and the feed is asked ever more rarely', async () => {
    const one = newFleet({ ranges: 8 })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    await one.advance(3_600_000)
    expect(one.eventsOf(a, 'leasesJoined')).toEqual([])
    expect(one.feed.joinRequests).toBe(0)
    expect(one.counts()).toEqual({ a: 8 })
  })

  test('LE-10 a merge over leases of two hosts leaves both, each with its own keys in order', async () => {
    const two = newFleet({ ranges: 2 })
    await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    two.feed.merge(firstRange(two))
    write(two, 5)
    await two.until(() => two.isDrained(), 500)
    await two.advance(60_000)
    expect(two.counts()).toEqual({ a: 1, b: 1 })
    expect(two.duplicates().size).toBe(0)
  })

  test('a merged range that splits elsewhere is cut where the leases and the ranges say', async () => {
    const one = newFleet({ ranges: 2 })
    await one.start('a')
    await one.until(() => one.isBalanced())
    const [left, right] = one.feed.ranges
    one.feed.merge(left!)
    // Inside the first lease: it is cut, the second one lies in one range and stays.
    one.feed.split(firstRange(one), '10')
    write(one)
    await one.until(() => one.counts()['a'] === 3 && one.isDrained(), 2_000)
    const ids = await storedLeaseIds(one)
    expect(ids).toContain(`-10`)
    expect(ids).toContain(`${right!.minInclusive}-FF`)
    await one.until(() => one.matchesRanges(), 20_000)
    expect(one.duplicates().size).toBe(0)
  })

  test('PH-5 with manual checkpoints leases are never joined: only the observer knows where they may begin', async () => {
    const one = newFleet({ ranges: 2, hostOptions: { checkpointFrequency: 'manual' } })
    await one.start('a')
    await one.until(() => one.isBalanced())
    one.feed.merge(firstRange(one))
    await one.advance(60_000)
    expect(one.counts()).toEqual({ a: 2 })
  })

  test('PH-4 a host that dies at any store call of a join costs no change', async () => {
    const died = new Set<string>()
    for (const when of ['before', 'after'] as const) {
      const two = newFleet({ ranges: 2 })
      const a = await two.start('a')
      await two.until(() => two.isBalanced())
      write(two)
      two.feed.merge(firstRange(two))
      a.store.onCall = (operation, at) => {
        if (operation !== 'replace' || at !== when) return
        died.add(when)
        two.kill(a)
      }
      await two.until(() => a.gate.isFrozen, 20_000)
      const writing = two.start('b')
      await writing
      write(two)
      await two.until(() => two.coversAll() && two.isDrained(), 30_000)
      expect(two.duplicates().size).toBe(0)
      assertFleetHistory(two)
      await two.end()
    }
    expect([...died]).toEqual(['before', 'after'])
  })
})
