import { describe, expect, test } from 'vitest'
import { feedRangeId, parseFeedRangeId, rangeContains } from '@tidemark/contracts'
import { assertFleetHistory, type Fleet } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const never = new AbortController().signal
const newFleet = fleetsWith({ ranges: 2 })
const newFleetWithLanes = fleetsWith({ ranges: 1 }, (fleet) =>
  assertFleetHistory(fleet, { lanes: true }),
)
const KEYS = Array.from({ length: 64 }, (_, index) => `key${index}`)
const START = { startFromBeginning: true, maxItemCount: 8 }

function write(target: Fleet, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) target.feed.append(key)
}

function of(leasesPerRange: number): { feedOptions: { leasesPerRange: number } } {
  return { feedOptions: { leasesPerRange } }
}

/** How many leases that are worked on lie in each pkrange. */
function leasesOfRanges(target: Fleet): number[] {
  const leases = target.workedOn()
  return target.feed.ranges.map((range) => {
    return leases.filter((lease) => rangeContains(range, lease)).length
  })
}

function isShaped(target: Fleet, wanted: number): boolean {
  return leasesOfRanges(target).every((count) => count === wanted) && target.coversAll()
}

function replacements(target: Fleet): number {
  return target.hosts.flatMap(({ store }) => store.calls.filter((call) => call === 'replace'))
    .length
}

describe('LE-15 leases per range', () => {
  test('LE-15 a group begins with that many leases of each pkrange, and so many hosts share the work', async () => {
    const one = newFleet({ ranges: 1, feedOptions: { ...START, leasesPerRange: 6 } })
    for (const name of ['a', 'b', 'c']) await one.start(name)
    await one.until(() => one.isBalanced(6))
    write(one, 3)
    await one.until(() => one.isDrained())
    expect(one.counts()).toEqual({ a: 2, b: 2, c: 2 })
    const working = new Set(one.deliveries.map(({ host }) => host))
    expect([...working].sort()).toEqual(['a', 'b', 'c'])
    expect(one.duplicates().size).toBe(0)
    await one.advance(600_000)
    expect(replacements(one)).toBe(0)
  })

  test('LE-15 a feed that reads whole pkranges only refuses it', () => {
    const one = newFleet()
    // A feed of before has no such method.
    Object.defineProperty(one.feed, 'divideRange', { value: undefined })
    expect(() => one.create('a', of(2))).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
    expect(() => one.create('b')).not.toThrow()
  })

  test.each([0, 257, 1.5, '2'])('LE-15 %s is no number of leases', (leasesPerRange) => {
    const one = newFleet()
    // @ts-expect-error -- as a user of JavaScript may give it
    const feedOptions: { leasesPerRange: number } = { leasesPerRange }
    expect(() => one.create('a', { feedOptions })).toThrow(/leasesPerRange/)
  })

  test('LE-15 one host that wants more has the leases cut while they are worked on, and nothing is repeated', async () => {
    const fleet = newFleet({
      ranges: 2,
      feedOptions: START,
      behaviour: () => fleet.clock.sleep(15, never),
    })
    const a = await fleet.start('a')
    const b = await fleet.start('b')
    await fleet.until(() => fleet.isBalanced())
    write(fleet, 4)
    await fleet.advance(20)
    await fleet.start('c', of(4))
    for (let round = 0; round < 20; round += 1) {
      write(fleet)
      await fleet.advance(100)
    }
    await fleet.until(() => isShaped(fleet, 4) && fleet.isDrained())
    expect(Object.values(fleet.counts()).sort((x, y) => x - y)).toEqual([2, 3, 3])
    expect(fleet.duplicates().size).toBe(0)
    const cuts = [...fleet.eventsOf(a, 'leaseCut'), ...fleet.eventsOf(b, 'leaseCut')]
    expect(cuts.length).toBeGreaterThan(0)
    for (const { epoch, next } of cuts) {
      for (const part of next) expect(part.epoch).toBeGreaterThan(epoch)
    }
    await fleet.advance(600_000)
    const before = replacements(fleet)
    await fleet.advance(600_000)
    expect(replacements(fleet)).toBe(before)
  })

  test('LE-15 as long as one host wants more the leases stay, and are joined when the last one has left', async () => {
    const fleet = newFleet({ ranges: 2, feedOptions: START })
    const a = await fleet.start('a', of(4))
    await fleet.start('b', of(2))
    await fleet.until(() => isShaped(fleet, 4))
    write(fleet, 2)
    await fleet.advance(600_000)
    expect(leasesOfRanges(fleet)).toEqual([4, 4])
    expect(replacements(fleet)).toBe(0)
    await fleet.stop(a)
    await fleet.until(() => isShaped(fleet, 2), 60_000)
    write(fleet, 2)
    await fleet.until(() => fleet.isDrained())
    expect(fleet.duplicates().size).toBe(0)
    await fleet.advance(600_000)
    expect(leasesOfRanges(fleet)).toEqual([2, 2])
  })

  test('LE-15 LE-10 a pkrange that is split or merged gets as many leases, and those that lie in a child stay', async () => {
    const fleet = newFleet({ ranges: 1, feedOptions: { ...START, leasesPerRange: 4 } })
    const a = await fleet.start('a')
    await fleet.start('b')
    await fleet.until(() => isShaped(fleet, 4))
    const before = fleet.workedOn().map(feedRangeId)
    write(fleet)
    fleet.feed.split(fleet.feed.ranges[0]!)
    write(fleet)
    await fleet.advance(300)
    // Each of them lies in one child, and its reader has noticed nothing.
    expect(fleet.workedOn().map(feedRangeId).sort()).toEqual(before.sort())
    fleet.feed.split(fleet.feed.ranges[0]!, '04')
    write(fleet)
    await fleet.until(() => isShaped(fleet, 4) && fleet.isDrained())
    expect(leasesOfRanges(fleet)).toEqual([4, 4, 4])
    expect(fleet.eventsOf(a, 'leaseLost')).toEqual([])
    while (fleet.feed.ranges.length > 1) fleet.feed.merge(fleet.feed.ranges[0]!)
    write(fleet)
    await fleet.advance(120_000)
    await fleet.until(() => fleet.isDrained())
    const [left] = leasesOfRanges(fleet)
    // Neighbours on two hosts stay two.
    expect(left).toBeLessThanOrEqual(5)
    expect(left).toBeGreaterThanOrEqual(4)
    expect(fleet.duplicates().size).toBe(0)
  })

  test('LE-15 a single pkrange of a group gets as many as well', async () => {
    const fleet = newFleet({ ranges: 4 })
    const [first] = fleet.feed.ranges
    const only = { partitionKeyRangeId: feedRangeId(first!), leasesPerRange: 3 }
    await fleet.start('a', { feedOptions: only })
    await fleet.until(() => fleet.counts()['a'] === 3)
    await fleet.start('b', { feedOptions: only })
    await fleet.until(() => fleet.isBalanced(3))
    expect(fleet.workedOn().every((lease) => rangeContains(first!, lease))).toBe(true)
  })

  test('LE-15 LE-12 a lease that is to go to another host while it drains to be cut goes as it is', async () => {
    let isSlow = true
    const fleet = newFleet({
      ranges: 2,
      feedOptions: START,
      behaviour: () => (isSlow ? fleet.clock.sleep(3_000, never) : undefined),
    })
    const a = await fleet.start('a')
    await fleet.until(() => fleet.isBalanced())
    write(fleet)
    await fleet.advance(50)
    await fleet.start('b', of(3))
    await fleet.advance(700)
    // One drains to be handed over, the other one to be cut; then a leaves, and both go.
    const states = a.host.health().leases.map(({ state }) => state)
    expect(states).toEqual(['draining', 'draining'])
    const leaving = fleet.stop(a)
    isSlow = false
    await leaving
    expect(fleet.eventsOf(a, 'leaseCut')).toEqual([])
    expect(fleet.eventsOf(a, 'leaseReleased')).toHaveLength(2)
    await fleet.until(() => isShaped(fleet, 3) && fleet.isDrained())
    expect(fleet.duplicates().size).toBe(0)
  })

  test('LE-15 PH-8 a key that hangs does not keep the others of its lease from going on after a cut', async () => {
    const hang = new AbortController()
    const fleet = newFleetWithLanes({
      feedOptions: START,
      hostOptions: { maxConcurrentKeys: 8 },
      behaviour: async (_, changes) => {
        const hangs = changes.some(({ id }) => id.startsWith('key0-'))
        if (hangs) await fleet.clock.sleep(1e9, hang.signal).catch(() => {})
      },
    })
    const a = await fleet.start('a')
    write(fleet)
    await fleet.advance(1_000)
    expect(fleet.deliveries.filter(({ outcome }) => outcome === undefined)).toHaveLength(1)
    await fleet.start('b', of(4))
    await fleet.advance(1_000)
    expect(a.host.health().leases.map(({ state }) => state)).toEqual(['draining'])
    write(fleet)
    const othersDone = (rounds: number): boolean => {
      const done = fleet.deliveries.filter(({ outcome }) => outcome === 'done')
      const ids = new Set(done.flatMap(({ changes }) => changes.map(({ id }) => id)))
      return ids.size === rounds * (KEYS.length - 1)
    }
    await fleet.until(() => leasesOfRanges(fleet)[0] === 4 && othersDone(2), 45_000)
    expect(fleet.eventsOf(a, 'leaseCut')).toHaveLength(1)
    // It goes on to hang in its part, and the others are done.
    await fleet.advance(60_000)
    write(fleet)
    await fleet.until(() => othersDone(3), 1_000)
    expect(fleet.eventsOf(a, 'leaseCut')).toHaveLength(1)
    hang.abort()
    await fleet.until(() => isShaped(fleet, 4) && fleet.isDrained())
  })

  test.each(['before', 'after'] as const)(
    'LE-15 PH-4 a host that dies %s each of the store calls around a cut costs no change',
    async (when) => {
      const died = new Set<string>()
      for (let step = 0; step < 16; step += 1) {
        const two = newFleet({ ranges: 1, feedOptions: START })
        const a = await two.start('a')
        await two.until(() => two.isBalanced())
        write(two)
        await two.until(() => two.isDrained())
        const from = a.store.calls.length
        a.store.onCall = (operation, at) => {
          if (at !== when || a.store.calls.length - from !== step) return
          died.add(operation)
          two.kill(a)
        }
        await two.start('b', of(4))
        write(two)
        await two.until(() => isShaped(two, 4) && two.isDrained(), 60_000)
        expect(two.duplicates().size).toBeLessThanOrEqual(4 * 8)
        assertFleetHistory(two)
        a.store.onCall = () => {}
        await two.end()
      }
      expect(died).toContain('replace')
    },
  )

  test('LE-15 PH-9 leases that were lost come again cut as they were', async () => {
    const fleet = newFleet({ ranges: 1, feedOptions: { ...START, leasesPerRange: 3 } })
    await fleet.start('a')
    await fleet.until(() => isShaped(fleet, 3))
    write(fleet)
    await fleet.until(() => fleet.isDrained())
    const ids = fleet.workedOn().map(feedRangeId).sort()
    await fleet.advance(10_000)
    fleet.memory.loseAllData()
    await fleet.until(() => isShaped(fleet, 3), 60_000)
    expect(fleet.workedOn().map(feedRangeId).sort()).toEqual(ids)
    expect(ids.map(parseFeedRangeId)).not.toContain(undefined)
  })
})
