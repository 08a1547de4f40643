import { afterEach, describe, expect, test } from 'vitest'
import {
  LeaseStoreUnavailableError,
  effectivePartitionKey,
  errorCode,
  feedRangeId,
  partitionKeyDefinition,
  rangeContainsEpk,
  rangesOverlap,
  type Change,
  type FeedRange,
  type LeaseGroup,
  type LeaseStore,
} from '@tidemark/contracts'
import {
  assertFleetHistory,
  Fleet,
  type Delivery,
  type FakeDocument,
  type FleetOptions,
} from '@tidemark/testing'
import { ProcessorGroup } from './processor-group.ts'
import { watchingOverride } from './watching-override.fixture.ts'

const TTL_MS = 8_000
const never = new AbortController().signal

let fleet: Fleet | undefined
/** Keys are skipped on purpose, so that the oracle of the fleet would object. */
let skips = false
let group: ProcessorGroup | undefined

function newFleet(options: FleetOptions = {}): { fleet: Fleet; group: ProcessorGroup } {
  skips = false
  fleet = new Fleet({ ranges: 4, feedOptions: { startFromBeginning: true }, ...options })
  group = groupOf(fleet)
  return { fleet, group }
}

/** Groups are paused through it, and nobody hears that they are. */
function losingAnswers(inner: LeaseStore, onLost: () => void): LeaseStore {
  return {
    description: inner.description,
    listGroups: (options) => inner.listGroups(options),
    openGroup: async (name, options) => {
      const opened = await inner.openGroup(name, options)
      const setPaused: LeaseGroup['setPaused'] = async (paused, s) => {
        const answer = await opened.setPaused(paused, s)
        if (!paused) return answer
        onLost()
        throw new LeaseStoreUnavailableError('the answer was lost')
      }
      return new Proxy(opened, {
        get(target, property): unknown {
          if (property === 'setPaused') return setPaused
          const value: unknown = Reflect.get(target, property)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        },
      })
    },
  }
}

function groupOf({ leases, feed, clock }: Fleet, store: LeaseStore = leases): ProcessorGroup {
  return new ProcessorGroup({ leases: store, group: 'group', feed, clock })
}

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  await group?.close()
  if (ended === undefined) return
  if (!skips) assertFleetHistory(ended)
  await ended.end()
})

const KEYS = Array.from({ length: 32 }, (_, index) => `key${index}`)

function write({ feed }: Fleet, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) feed.append(key)
}

function epkOf(key: string): string {
  return effectivePartitionKey([key], partitionKeyDefinition('/key'))
}

/** An observer that takes its time, and notes which calls run at once on one key. */
function slowly(target: () => Fleet, durationMs: number) {
  const running = new Set<FeedRange>()
  const overlaps: string[] = []
  const behaviour = async ({ range, leaseId }: { range: FeedRange; leaseId: string }) => {
    for (const other of running) {
      if (rangesOverlap(other, range)) overlaps.push(`${leaseId} and ${feedRangeId(other)}`)
    }
    running.add(range)
    try {
      await target().clock.sleep(durationMs, never)
    } finally {
      running.delete(range)
    }
  }
  return { behaviour, overlaps }
}

/** What came of each key in the order in which it came first, in deliveries from some moment on. */
function firstsByKey(deliveries: readonly Delivery[]): Map<string, number[]> {
  const firsts = new Map<string, number[]>()
  for (const { changes } of deliveries) {
    for (const { key, n } of changes.map(documentOf)) {
      const own = firsts.get(key) ?? []
      if (!own.includes(n)) own.push(n)
      firsts.set(key, own)
    }
  }
  return firsts
}

function documentOf(change: Change<FakeDocument>): FakeDocument {
  if (change.kind !== 'document') throw new Error('the fake feed has documents')
  return change.document
}

async function positions({ leases }: Fleet): Promise<Map<string, number>> {
  const opened = await leases.openGroup('group')
  const snapshot = await opened.read()
  return new Map(snapshot.leases.map(({ id, checkpoint }) => [id, checkpoint.lsn]))
}

describe('pause and resume', () => {
  test('LE-12 a paused group drains, delivers nothing, and goes on exactly there: nothing lost, nothing repeated', async () => {
    const slow = slowly(() => all.fleet, 40)
    const all = newFleet({ behaviour: slow.behaviour })
    const a = await all.fleet.start('a')
    const b = await all.fleet.start('b')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet, 3)
    await all.fleet.advance(50)
    expect(await all.group.pause()).toBe(true)
    expect(await all.group.pause()).toBe(false)
    expect(await all.fleet.run(all.group.waitUntilDrained())).toBe(true)
    const { paused, hosts, leases } = await all.group.status()
    expect({ paused, owners: leases.map(({ owner }) => owner) }).toEqual({
      paused: true,
      owners: Array(4).fill(undefined),
    })
    expect(hosts.map(({ host, leases: count }) => [host, count])).toEqual([
      ['a', 0],
      ['b', 0],
    ])
    const before = all.fleet.deliveries.length
    expect(before).toBeGreaterThan(0)
    write(all.fleet)
    await all.fleet.advance(60_000)
    expect(all.fleet.deliveries).toHaveLength(before)
    expect([a, b].map(({ host }) => host.health().status)).toEqual(['running', 'running'])
    expect(await all.group.resume()).toBe(true)
    expect(await all.group.resume()).toBe(false)
    await all.fleet.until(() => all.fleet.isDrained() && all.fleet.isBalanced(), 5_000)
    expect(all.fleet.duplicates().size).toBe(0)
    expect(slow.overlaps).toEqual([])
    // Nobody was to have them: no warning that no host can take them.
    for (const host of [a, b]) expect(all.fleet.eventsOf(host, 'unownedRanges')).toEqual([])
  })

  test('a group may be paused before it has hosts, and hosts that come while it is paused wait', async () => {
    const all = newFleet()
    await all.group.pause()
    expect(await all.fleet.run(all.group.waitUntilDrained())).toBe(true)
    await all.fleet.start('a')
    write(all.fleet)
    await all.fleet.advance(30_000)
    expect(all.fleet.deliveries).toEqual([])
    await all.group.resume()
    await all.fleet.until(() => all.fleet.isDrained())
  })

  test('a host that died with leases counts as drained when its session is over, although nobody calls the store', async () => {
    const all = newFleet()
    const a = await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    all.fleet.kill(a)
    await all.group.pause()
    const startMs = all.fleet.clock.monotonicMs()
    expect(await all.fleet.run(all.group.waitUntilDrained({ timeoutMs: 60_000 }))).toBe(true)
    expect(all.fleet.clock.monotonicMs() - startMs).toBeLessThan(TTL_MS + 500)
  })

  test('a group with a host that does not give its leases back is not drained in time', async () => {
    const all = newFleet({ behaviour: () => all.fleet.clock.sleep(20_000, never) })
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet)
    await all.fleet.advance(10)
    await all.group.pause()
    expect(await all.fleet.run(all.group.waitUntilDrained({ timeoutMs: 3_000 }))).toBe(false)
    expect(await all.fleet.run(all.group.waitUntilDrained())).toBe(true)
    await all.group.resume()
  })
})

describe('seek', () => {
  test('a group that is resumed while it drains is paused again: no call is cut short, and it runs in the end', async () => {
    const slow = slowly(() => all.fleet, 2_000)
    const all = newFleet({ behaviour: slow.behaviour })
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet)
    await all.fleet.advance(20)
    const seeking = all.group.seek({ to: 'beginning' })
    await all.fleet.advance(20)
    expect(await all.group.resume()).toBe(true)
    await all.fleet.advance(500)
    expect((await all.group.status()).paused).toBe(true)
    expect(await all.fleet.run(seeking)).toHaveLength(4)
    expect((await all.group.status()).paused).toBe(false)
    await all.fleet.until(() => all.fleet.isDrained(), 20_000)
    expect(slow.overlaps).toEqual([])
  })

  test('LE-11 to the beginning, while hosts run: all comes again, in order per key, and no two calls run on one key', async () => {
    const slow = slowly(() => all.fleet, 300)
    const all = newFleet({ behaviour: slow.behaviour })
    await all.fleet.start('a')
    await all.fleet.start('b')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet, 2)
    await all.fleet.until(() => all.fleet.isDrained())
    write(all.fleet, 2)
    await all.fleet.advance(20)
    const moved = await all.fleet.run(all.group.seek({ to: 'beginning' }))
    expect(moved).toHaveLength(4)
    for (const { fromLsn = 0, toLsn } of moved) {
      expect(toLsn).toBe(0)
      expect(fromLsn).toBeGreaterThan(0)
    }
    const since = all.fleet.deliveries.length
    write(all.fleet)
    await all.fleet.until(() => {
      const firsts = firstsByKey(all.fleet.deliveries.slice(since))
      return KEYS.every((key) => firsts.get(key)?.length === 5)
    }, 10_000)
    for (const ns of firstsByKey(all.fleet.deliveries.slice(since)).values()) {
      expect(ns).toEqual([1, 2, 3, 4, 5])
    }
    expect(slow.overlaps).toEqual([])
    expect((await all.group.status()).paused).toBe(false)
  })

  test('LE-11 at once, past a host that stands still: what that host stores afterwards is refused', async () => {
    const all = newFleet({ ranges: 1, behaviour: () => all.fleet.clock.sleep(30, never) })
    const a = await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet)
    await all.fleet.advance(10)
    a.gate.freeze()
    const [moved] = await all.fleet.run(all.group.seek({ to: 'beginning' }, { drainTimeoutMs: 0 }))
    expect(moved).toMatchObject({ leaseId: '-FF', toLsn: 0 })
    a.gate.thaw()
    await all.fleet.until(() => all.fleet.eventsOf(a, 'leaseLost').length === 1)
    const epochs = (): readonly number[] => [
      ...new Set(all.fleet.deliveries.map(({ epoch }) => epoch)),
    ]
    await all.fleet.until(() => epochs().length === 2 && all.fleet.duplicates().size === 32)
    const [first = Infinity, second = 0] = epochs()
    expect(second).toBeGreaterThan(first)
    const again = all.fleet.deliveries.find(({ epoch }) => epoch === second)
    expect(again?.changes[0]?.lsn).toBe(1)
  })

  test('to now: what was not processed is skipped, and it is told what', async () => {
    const all = newFleet({ ranges: 2 })
    skips = true
    write(all.fleet, 3)
    const begun = await all.fleet.start('a')
    await all.fleet.stop(begun)
    await all.group.seek({ to: 'beginning' })
    const preview = await all.group.previewSeek({ to: 'now' })
    const moved = await all.group.seek({ to: 'now' })
    expect(moved).toEqual(preview)
    const skipped = moved.reduce((sum, { fromLsn = 0, toLsn }) => sum + toLsn - fromLsn, 0)
    expect(skipped).toBe(3 * KEYS.length)
    const before = all.fleet.deliveries.length
    await all.fleet.start('b')
    write(all.fleet)
    await all.fleet.until(() => firstsByKey(all.fleet.deliveries.slice(before)).size === 32)
    for (const ns of firstsByKey(all.fleet.deliveries.slice(before)).values()) {
      expect(ns).toEqual([4])
    }
  })

  test('to a time: from the first change of that second on', async () => {
    const all = newFleet()
    write(all.fleet, 2)
    await all.fleet.advance(10_000)
    const timeMs = all.fleet.clock.wallMs()
    write(all.fleet)
    const a = await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isDrained())
    const since = all.fleet.deliveries.length
    await all.fleet.run(all.group.seek({ to: new Date(timeMs) }))
    await all.fleet.until(() => firstsByKey(all.fleet.deliveries.slice(since)).size === 32)
    await all.fleet.stop(a)
    for (const ns of firstsByKey(all.fleet.deliveries.slice(since)).values()) {
      expect(ns).toEqual([3])
    }
  })

  test('of some keys only: leases are cut for them, and no other key comes again', async () => {
    const all = newFleet({ ranges: 2 })
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet, 2)
    await all.fleet.until(() => all.fleet.isDrained())
    const range = { minInclusive: '08', maxExclusive: '2A' }
    const moved = await all.fleet.run(all.group.seek({ to: 'beginning', ranges: [range] }))
    expect(moved.map(({ leaseId }) => leaseId)).toEqual([
      `08-${all.fleet.feed.ranges[0]?.maxExclusive}`,
      `${all.fleet.feed.ranges[1]?.minInclusive}-2A`,
    ])
    const inside = KEYS.filter((key) => rangeContainsEpk(range, epkOf(key)))
    expect(inside.length).toBeGreaterThan(3)
    await all.fleet.until(() => all.fleet.duplicates().size === 2 * inside.length)
    await all.fleet.advance(5_000)
    const repeated = [...all.fleet.duplicates().keys()].map((id) => id.split('-')[0])
    expect(new Set(repeated)).toEqual(new Set(inside))
  })

  test('to a continuation, of a range that contains those that are moved', async () => {
    const all = newFleet({ ranges: 1 })
    write(all.fleet)
    const [range] = all.fleet.feed.ranges
    const { continuation, lsn } = await all.fleet.feed.resolveStart({
      range: range!,
      start: 'now',
    })
    all.fleet.feed.split(range!)
    write(all.fleet)
    const a = await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isDrained())
    await all.fleet.stop(a)
    const moved = await all.group.seek({ to: { continuation } })
    expect(moved.map(({ toLsn }) => toLsn)).toEqual([lsn, lsn])
    await expect(all.group.seek({ to: { continuation: 'nonsense' } })).rejects.toMatchObject({
      code: 'ERR_INVALID_CONTINUATION',
    })
  })

  test('TTL-14 the feed is told of a step back before it is done, so that nothing is purged that is needed again', async () => {
    const all = newFleet({ ranges: 2 })
    const a = await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet)
    await all.fleet.until(() => all.fleet.isDrained())
    await all.fleet.stop(a)
    const told = async (): Promise<readonly number[]> =>
      (await all.fleet.feed.positions.read('group')).map(({ lsn }) => lsn)
    expect(Math.min(...(await told()))).toBeGreaterThan(0)
    const order: string[] = []
    const watched = groupOf(
      all.fleet,
      watchingOverride(all.fleet.leases, async () => {
        order.push(`override at ${(await told()).join()}`)
      }),
    )
    await watched.seek({ to: 'beginning' })
    expect(order).toEqual(['override at 0,0'])
    await all.group.seek({ to: 'now' })
    // A step ahead is told only after it was done.
    expect(Math.min(...(await told()))).toBeGreaterThan(0)
    const back = groupOf(
      all.fleet,
      watchingOverride(all.fleet.leases, async () => {
        order.push(`override at ${Math.min(...(await told())) > 0}`)
      }),
    )
    await back.seek({ to: 'now' })
    expect(order.at(-1)).toBe('override at true')
    // When it cannot be told, it is not done.
    const before = await positions(all.fleet)
    all.fleet.feed.positions.beforeReport = () => Promise.reject(new Error('no'))
    await expect(all.group.seek({ to: 'beginning' })).rejects.toThrow('no')
    all.fleet.feed.positions.beforeReport = () => {}
    expect(await positions(all.fleet)).toEqual(before)
    expect((await all.group.status()).paused).toBe(false)
  })

  test('PH-7 tries begin anew; a release keeps them', async () => {
    const { group: admin, fleet: one } = newFleet({ ranges: 1 })
    const opened = await one.leases.openGroup('group')
    const range = one.feed.ranges[0]!
    const position = await one.feed.resolveStart({ range, start: 'beginning' })
    const attempts = { count: 4, size: 7 }
    await opened.create([{ range, checkpoint: { ...position, attempts } }])
    expect(await admin.release('-FF')).toBeUndefined()
    expect((await admin.status()).leases[0]?.attempts).toEqual(attempts)
    await admin.seek({ to: 'beginning' })
    expect((await admin.status()).leases[0]?.attempts).toBeUndefined()
  })

  test('while ranges split and merge and hosts come and go, every key goes on from the beginning', async () => {
    for (const drainTimeoutMs of [0, 60_000]) {
      const all = newFleet({ ranges: 3, behaviour: () => all.fleet.clock.sleep(15, never) })
      await all.fleet.start('a')
      const b = await all.fleet.start('b')
      await all.fleet.until(() => all.fleet.isBalanced())
      write(all.fleet, 2)
      await all.fleet.advance(30)
      for (const range of all.fleet.feed.ranges) all.fleet.feed.split(range)
      const seeking = all.group.seek({ to: 'beginning' }, { drainTimeoutMs })
      const leaving = all.fleet.stop(b)
      await all.fleet.run(seeking)
      const since = all.fleet.deliveries.length
      await leaving
      all.fleet.feed.merge(all.fleet.feed.ranges[0]!)
      await all.fleet.start('c')
      write(all.fleet)
      await all.fleet.until(() => {
        const firsts = firstsByKey(all.fleet.deliveries.slice(since))
        return KEYS.every((key) => firsts.get(key)?.length === 3)
      }, 20_000)
      if (drainTimeoutMs === 0) continue
      for (const ns of firstsByKey(all.fleet.deliveries.slice(since)).values()) {
        expect(ns).toEqual([1, 2, 3])
      }
    }
  })

  test.each(['at first', 'after somebody resumed it'])(
    'a pause of which no answer comes, %s, does not outlast the seek that failed by it',
    async (when) => {
      const all = newFleet({ behaviour: () => all.fleet.clock.sleep(2_000, never) })
      await all.fleet.start('a')
      await all.fleet.until(() => all.fleet.isBalanced())
      write(all.fleet)
      await all.fleet.advance(20)
      const isRepeated = when !== 'at first'
      // Then the first pause is another operator's, and so is the resumption.
      if (isRepeated) await all.group.pause()
      let lost = 0
      const cutOff = groupOf(
        all.fleet,
        losingAnswers(all.fleet.leases, () => void (lost += 1)),
      )
      const seeking = cutOff.seek({ to: 'beginning' }).catch((error: unknown) => errorCode(error))
      await all.fleet.advance(20)
      if (isRepeated) await all.group.resume()
      expect(await all.fleet.run(seeking)).toBe('ERR_LEASE_STORE_UNAVAILABLE')
      expect(lost).toBe(1)
      expect((await all.group.status()).paused).toBe(false)
      await cutOff.close()
    },
  )

  test('leases that others change again and again: nothing is done, and the group is resumed', async () => {
    const all = newFleet()
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    let overrides = 0
    const busy = groupOf(
      all.fleet,
      watchingOverride(all.fleet.leases, (request) => {
        overrides += 1
        return { ...request, old: request.old.map((one) => ({ ...one, epoch: one.epoch - 1 })) }
      }),
    )
    const before = await positions(all.fleet)
    await expect(all.fleet.run(busy.seek({ to: 'now' }))).rejects.toMatchObject({
      code: 'ERR_LEASES_CHANGED',
    })
    await expect(all.fleet.run(busy.release([...before.keys()][0] ?? ''))).rejects.toMatchObject({
      code: 'ERR_LEASES_CHANGED',
    })
    expect(overrides).toBeLessThan(30)
    expect(await positions(all.fleet)).toEqual(before)
    expect((await all.group.status()).paused).toBe(false)
  })

  test('an operator who gives up half-way leaves the group running; one who found it paused leaves it paused', async () => {
    const all = newFleet({ behaviour: () => all.fleet.clock.sleep(20_000, never) })
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet)
    await all.fleet.advance(10)
    const abort = new AbortController()
    const seeking = all.group.seek({ to: 'beginning' }, { signal: abort.signal })
    seeking.catch(() => {})
    await all.fleet.until(() => all.fleet.clock.monotonicMs() > 0)
    await all.fleet.advance(500)
    expect((await all.group.status()).paused).toBe(true)
    abort.abort(new Error('enough'))
    await expect(all.fleet.run(seeking)).rejects.toThrow('enough')
    expect((await all.group.status()).paused).toBe(false)
    await all.group.pause()
    await all.fleet.run(all.group.seek({ to: 'beginning' }))
    expect((await all.group.status()).paused).toBe(true)
  })

  test('what is wrong is told before anything happens', async () => {
    const all = newFleet()
    const refused = (work: Promise<unknown>): Promise<void> =>
      expect(work).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    await refused(all.group.seek({ to: 'now' }))
    await refused(all.group.release('-FF'))
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    const before = await positions(all.fleet)
    const empty = { minInclusive: '20', maxExclusive: '20' }
    const low = { minInclusive: '', maxExclusive: '20' }
    await refused(all.group.seek({ to: 'now', ranges: [empty] }))
    await refused(all.group.seek({ to: 'now', ranges: [low, low] }))
    await refused(all.group.seek({ to: new Date(Number.NaN) }))
    await refused(all.group.release('nothing'))
    const blind = new ProcessorGroup({ leases: all.fleet.leases, group: 'group' })
    await refused(blind.seek({ to: 'now' }))
    expect(() => new ProcessorGroup({ leases: all.fleet.leases, group: '$x' })).toThrow('$x')
    expect(await positions(all.fleet)).toEqual(before)
    expect((await all.group.status()).paused).toBe(false)
  })
})

describe('release', () => {
  test('LE-11 PH-9 a lease in the hands of an observer that hangs goes on with a fresh one', async () => {
    const hung = new Set<string>()
    const all = newFleet({
      ranges: 1,
      behaviour: ({ leaseId, fence, signal }) => {
        if (hung.size > 0) return
        hung.add(`${leaseId} ${fence.epoch}`)
        return all.fleet.clock.sleep(3_600_000, signal)
      },
    })
    await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.isBalanced())
    write(all.fleet)
    await all.fleet.advance(5_000)
    expect(all.fleet.isDrained()).toBe(false)
    expect(await all.group.release('-FF')).toBe('a')
    await all.fleet.until(() => all.fleet.isDrained(), 10_000)
    const [first, second] = [...new Set(all.fleet.deliveries.map(({ epoch }) => epoch))]
    expect(hung).toEqual(new Set([`-FF ${first}`]))
    expect(second).toBeGreaterThan(first ?? Infinity)
  })
})

describe('hosts of different strength, and in reserve', () => {
  test('LE-9 a host on standby has nothing until the others are gone, and gives it back without repeating anything', async () => {
    const all = newFleet()
    await all.fleet.start('s', { hostOptions: { standby: true } })
    const a = await all.fleet.start('a')
    await all.fleet.until(() => all.fleet.counts()['a'] === 4)
    write(all.fleet)
    await all.fleet.until(() => all.fleet.isDrained())
    expect(all.fleet.counts()).toEqual({ a: 4, s: 0 })
    const { hosts } = await all.group.status()
    expect(hosts.map(({ host, profile }) => [host, profile.standby ?? false])).toEqual([
      ['a', false],
      ['s', true],
    ])
    await all.fleet.stop(a)
    await all.fleet.until(() => all.fleet.counts()['s'] === 4, 2_000)
    write(all.fleet)
    await all.fleet.until(() => all.fleet.isDrained())
    await all.fleet.start('b')
    await all.fleet.until(() => all.fleet.counts()['b'] === 4, 5_000)
    write(all.fleet)
    await all.fleet.until(() => all.fleet.isDrained())
    expect(all.fleet.counts()).toMatchObject({ b: 4, s: 0 })
    expect(all.fleet.duplicates().size).toBe(0)
  })

  test('LE-7 weights share leases out in proportion', async () => {
    const all = newFleet({ ranges: 8 })
    await all.fleet.start('a', { hostOptions: { weight: 3 } })
    await all.fleet.start('b')
    await all.fleet.until(() => all.fleet.counts()['a'] === 6 && all.fleet.counts()['b'] === 2)
    const { hosts } = await all.group.status()
    expect(hosts.map(({ profile, leases }) => [profile.weight, leases])).toEqual([
      [3, 6],
      [1, 2],
    ])
  })
})
