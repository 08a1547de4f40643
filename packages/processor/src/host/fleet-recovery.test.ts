import { afterEach, describe, expect, test } from 'vitest'
import {
  errorCode,
  feedRangeId,
  parseFeedRangeId,
  rangesOverlap,
  type GroupPosition,
} from '@tidemark/contracts'
import {
  Fleet,
  assertFleetHistory,
  assertNoStaleOwner,
  type FleetHost,
  type FleetOptions,
} from '@tidemark/testing'
import { leaseStoreOn } from '../lease-stores/memory-lease-store.ts'

const never = new AbortController().signal

const TTL_MS = 8_000
const HEARTBEAT_MS = 2_000
const BATCH = 8

let fleet: Fleet | undefined

function newFleet(options: FleetOptions = {}): Fleet {
  fleet = new Fleet({
    ranges: 4,
    ...options,
    feedOptions: { startFromBeginning: true, maxItemCount: BATCH, ...options.feedOptions },
  })
  return fleet
}

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  assertFleetHistory(ended)
  assertNoStaleOwner(ended)
  await ended.end()
  assertFleetHistory(ended)
})

function write(target: Fleet, count = 64): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n % 32}`)
}

/** FLUSHALL, or a server that came back without its data. */
function wipe({ memory }: Fleet): void {
  memory.loseAllData()
}

async function storedLsns(target: Fleet): Promise<number[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ checkpoint }) => checkpoint.lsn)
}

function mirrored(target: Fleet): Promise<readonly GroupPosition[]> {
  return target.feed.positions.read('group')
}

/** Works, and goes on until everything is shared out and delivered. */
async function untilSettled(target: Fleet, limitMs = 30_000): Promise<void> {
  await target.until(() => target.coversAll() && target.isDrained(), limitMs)
}

/** Changes that came again although they lie at or below what the feed had been told. */
function repeatedBelow(
  target: Fleet,
  told: readonly GroupPosition[],
  { from }: { readonly from: number },
): string[] {
  return target.deliveries.slice(from).flatMap(({ leaseId, changes }) => {
    const range = parseFeedRangeId(leaseId)!
    const known = told.filter((position) => rangesOverlap(position.range, range))
    return changes
      .filter((change) => known.some((position) => change.lsn <= position.lsn))
      .map(({ id }) => id)
  })
}

/** The highest epoch that was worked at up to a delivery, and the lowest from there on. */
/** Of the lease whose epochs rise the least: the highest before, and the lowest after. */
function epochsAround({ deliveries }: Fleet, from: number): { before: number; after: number } {
  const epochsOf = (some: typeof deliveries, leaseId: string): number[] =>
    some.filter((one) => one.leaseId === leaseId).map(({ epoch }) => epoch)
  const around = deliveries.slice(from).map(({ leaseId }) => {
    const before = Math.max(...epochsOf(deliveries.slice(0, from), leaseId))
    return { before, after: Math.min(...epochsOf(deliveries.slice(from), leaseId)) }
  })
  const [least] = around.toSorted((a, b) => a.after - a.before - (b.after - b.before))
  if (least === undefined) throw new Error('nothing was delivered')
  return least
}

describe('hosts that run when the lease store loses its data', () => {
  test('PH-4 an idle group goes on exactly where it stood, and repeats nothing', async () => {
    const two = newFleet()
    const a = await two.start('a')
    const b = await two.start('b')
    await two.until(() => two.isBalanced())
    write(two)
    await two.until(() => two.isDrained())
    await two.advance(3_000)
    const stood = await storedLsns(two)
    const deliveries = two.deliveries.length
    wipe(two)
    const lostMs = two.clock.monotonicMs()
    await two.until(() => a.host.health().status === 'recovering', HEARTBEAT_MS + 100)
    expect(a.host.health().leases).toEqual([])
    await two.until(() => two.isBalanced())
    expect(two.clock.monotonicMs() - lostMs).toBeLessThan(TTL_MS + 2 * HEARTBEAT_MS)
    expect(await storedLsns(two)).toEqual(stood)
    write(two)
    await two.until(() => two.isDrained())
    expect(two.duplicates().size).toBe(0)
    const { before, after } = epochsAround(two, deliveries)
    expect(after).toBeGreaterThan(before)
    for (const host of [a, b]) {
      expect(two.eventsOf(host, 'leaseStoreLost')).toMatchObject([{ action: 'recover' }])
      expect(two.eventsOf(host, 'recovered')).toHaveLength(1)
      expect(two.eventsOf(host, 'joined')).toHaveLength(2)
      expect(two.eventsOf(host, 'stopped')).toEqual([])
    }
    // One of them made the leases; the other found them.
    const made = [a, b].flatMap((host) => two.eventsOf(host, 'recovered'))
    expect(made.filter(({ byThisHost }) => byThisHost)).toHaveLength(1)
    expect(made[0]?.leases.map((one) => one.lsn)).toEqual(stood)
  })

  test('PH-4 in the middle of batches: nothing is lost, and two batches of each range come again at most', async () => {
    const three = newFleet({ ranges: 6, behaviour: () => three.clock.sleep(40, never) })
    const hosts = [await three.start('a'), await three.start('b'), await three.start('c')]
    await three.until(() => three.isBalanced())
    for (let round = 0; round < 30; round += 1) {
      write(three, 16)
      if (round === 10) wipe(three)
      await three.advance(100)
    }
    await untilSettled(three)
    for (const host of hosts) expect(three.eventsOf(host, 'recovered')).toHaveLength(1)
    const again = three.duplicates()
    // The batch that was in flight and the one before, of each range; what had been stored was told, although just before.
    expect(again.size).toBeGreaterThan(0)
    expect(again.size).toBeLessThanOrEqual(6 * 2 * BATCH)
    expect(Math.max(...again.values())).toBe(2)
  })

  test('I1 nobody gets a lease before the time of a session is over, also not a host that starts meanwhile', async () => {
    const two = newFleet({ behaviour: () => two.clock.sleep(50, never) })
    const a = await two.start('a')
    const cut = await two.start('cut')
    await two.until(() => two.isBalanced())
    await two.advance(HEARTBEAT_MS)
    // It knows nothing of the loss, and works on until its deadline.
    cut.store.link = 'down'
    wipe(two)
    const lostMs = two.clock.monotonicMs()
    const from = two.deliveries.length
    const starting = two.create('late')
    const registered = two.register(starting)
    for (let round = 0; round < 100; round += 1) {
      write(two, 8)
      await two.advance(50)
    }
    expect(two.deliveries.slice(from).some(({ member }) => member === cut)).toBe(true)
    expect(starting.host.health().status).toBe('recovering')
    expect(starting.events.map(({ name }) => name)).toContain('leaseStoreLost')
    await two.run(registered)
    await two.until(() => two.counts()['a'] === 2 && two.counts()['late'] === 2)
    const begun = two.deliveries.slice(from).filter(({ epoch }) => epoch > 0)
    const lastOld = begun.filter(({ member }) => member === cut).at(-1)
    expect(lastOld!.atMs).toBeLessThan(lostMs + TTL_MS)
    const acquired = [a, starting].flatMap((host) => two.events(host, 'leaseAcquired'))
    for (const { atMs } of acquired.filter((one) => one.atMs > lostMs)) {
      expect(atMs).toBeGreaterThanOrEqual(lostMs + TTL_MS)
      expect(atMs).toBeGreaterThan(lastOld!.atMs)
    }
    cut.store.link = 'up'
    await untilSettled(two)
    expect(two.eventsOf(cut, 'recovered')).toHaveLength(1)
  })

  test('what was stored and not told yet is told by its live owner, who knows best', async () => {
    const one = newFleet({ ranges: 1 })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(5_000)
    // The feed takes no report from here on: of what is stored now it knows nothing.
    let isDown = true
    one.feed.positions.beforeReport = () => {
      if (isDown) throw new Error('positions down')
    }
    write(one)
    await one.until(() => one.isDrained())
    await one.until(() => a.host.health().leases[0]?.checkpointLsn === 64)
    expect((await mirrored(one))[0]?.lsn).toBeLessThan(64)
    wipe(one)
    // Longer than the whole wait: then it tells it before it makes the leases.
    await one.advance(TTL_MS + 2 * HEARTBEAT_MS)
    expect(a.host.health().status).toBe('recovering')
    expect(a.host.health().lastError).toEqual(new Error('positions down'))
    isDown = false
    await untilSettled(one)
    expect((await mirrored(one))[0]?.lsn).toBe(64)
    expect(one.duplicates().size).toBe(0)
  })

  test('an owner that was stopped and comes back after the recovery does not set the mirror back', async () => {
    const two = newFleet({ ranges: 1 })
    const a = await two.start('a')
    await two.until(() => two.isBalanced())
    write(two)
    await two.until(() => two.isDrained())
    await two.advance(3_000)
    a.gate.freeze()
    await two.start('b')
    await two.until(() => two.counts()['b'] === 1)
    wipe(two)
    await two.until(() => two.counts()['b'] === 0)
    await two.until(() => two.counts()['b'] === 1)
    write(two)
    await two.until(() => two.isDrained())
    await two.advance(3_000)
    expect((await mirrored(two))[0]?.lsn).toBe(128)
    a.gate.thaw()
    await two.until(() => two.eventsOf(a, 'recovered').length === 1)
    await two.advance(3_000)
    expect((await mirrored(two))[0]?.lsn).toBe(128)
    expect(two.duplicates().size).toBe(0)
  })

  test('TTL-15 a range that was to begin anew begins anew, although the feed was told of a higher position', async () => {
    const one = newFleet({ ranges: 1, feedOptions: { onHorizonPassed: 'resync' } })
    const a = await one.start('a')
    write(one)
    await one.until(() => one.isDrained())
    await one.stop(a)
    write(one)
    one.feed.passHorizon(one.feed.ranges[0]!)
    let isDown = false
    one.feed.positions.beforeReport = () => {
      if (isDown) throw new Error('positions down')
    }
    const b = one.create('b')
    b.store.onCall = (operation, when) => {
      if (operation !== 'replace' || when !== 'after' || isDown) return
      // Stored as the beginning, and not told before the loss.
      isDown = true
      wipe(one)
    }
    await one.run(one.register(b))
    await one.until(() => isDown)
    expect((await mirrored(one))[0]?.lsn).toBe(64)
    isDown = false
    await untilSettled(one)
    expect(one.eventsOf(b, 'resynchronized')).toHaveLength(1)
    expect(one.eventsOf(b, 'recovered')[0]?.leases).toMatchObject([{ lsn: 0 }])
    expect(await storedLsns(one)).toEqual([128])
  })

  test('LE-10 a split around the loss: the children go on where their parent stood', async () => {
    const lost = new Set<string>()
    for (const when of ['before', 'after'] as const) {
      for (let step = 0; step < 12; step += 1) {
        const two = newFleet({ ranges: 1 })
        const a = await two.start('a')
        await two.start('b')
        await two.until(() => two.isBalanced())
        await two.advance(1_000)
        const owner = two.counts()['a'] === 1 ? a : two.hosts[1]!
        write(two)
        const from = owner.store.calls.length
        owner.store.onCall = (operation, at) => {
          if (at !== when || owner.store.calls.length - from !== step) return
          owner.store.onCall = () => {}
          lost.add(`${when} ${operation}`)
          wipe(two)
        }
        two.feed.split(two.feed.ranges[0]!)
        write(two)
        await two.until(() => two.coversAll() && two.matchesRanges() && two.isDrained(), 40_000)
        expect(two.duplicates().size).toBeLessThanOrEqual(2 * 2 * BATCH)
        assertFleetHistory(two)
        assertNoStaleOwner(two)
        await two.end()
      }
    }
    expect(lost).toContain('before replace')
    expect(lost).toContain('after replace')
    expect(lost).toContain('after checkpoint')
  })

  test('LE-10 ranges that were split and merged while nobody had leases: every key goes on', async () => {
    const one = newFleet({ ranges: 3 })
    await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    await one.until(() => one.isDrained())
    await one.advance(2_000)
    wipe(one)
    await one.advance(HEARTBEAT_MS)
    one.feed.split(one.feed.ranges[0]!)
    one.feed.merge(one.feed.ranges[1]!)
    write(one)
    await untilSettled(one)
    expect(one.duplicates().size).toBe(0)
  })

  test('a second loss while they recover begins the wait anew, and they recover from that one too', async () => {
    const two = newFleet()
    const a = await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    write(two)
    await two.until(() => two.isDrained())
    wipe(two)
    await two.until(() => two.eventsOf(a, 'leaseStoreLost').length === 1)
    // Right before the time is over at which they would have made leases in the data that are gone again.
    const [noticed] = two.events(a, 'leaseStoreLost')
    await two.advance(noticed!.atMs + TTL_MS - 1 - two.clock.monotonicMs())
    wipe(two)
    const lostMs = two.clock.monotonicMs()
    await two.until(() => two.isBalanced())
    expect(two.clock.monotonicMs() - lostMs).toBeGreaterThanOrEqual(TTL_MS)
    expect(two.eventsOf(a, 'leaseStoreLost')).toHaveLength(2)
    expect(two.eventsOf(a, 'recovered')).toHaveLength(1)
    write(two)
    await untilSettled(two)
  })

  test('a loss between making the leases and joining is noticed at once', async () => {
    const one = newFleet()
    const a = one.create('a')
    let isDone = false
    a.store.onCall = (operation, when) => {
      if (operation !== 'sync:join' || when !== 'before' || isDone) return
      isDone = true
      wipe(one)
    }
    write(one)
    await one.run(one.register(a))
    await untilSettled(one)
    expect(isDone).toBe(true)
    expect(one.eventsOf(a, 'leaseStoreLost')).toHaveLength(1)
    expect(one.eventsOf(a, 'recovered')).toHaveLength(1)
  })

  test('LE-11 epochs rise over a loss also when the clock of the store that comes back is an hour behind', async () => {
    // The store's time, apart from the hosts'.
    const offset = { ms: 0 }
    const two = newFleet({
      leases: (clock, memory) =>
        leaseStoreOn(memory, {
          clock: {
            wallMs: () => clock.wallMs() + offset.ms,
            monotonicMs: () => clock.monotonicMs(),
            sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
          },
        }),
    })
    await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    write(two)
    await two.until(() => two.isDrained())
    await two.advance(2_000)
    offset.ms = -3_600_000
    wipe(two)
    const from = two.deliveries.length
    await two.until(() => !two.isBalanced())
    await two.until(() => two.isBalanced())
    write(two)
    await two.until(() => two.isDrained())
    const { before, after } = epochsAround(two, from)
    expect(after).toBeGreaterThan(before)
    // Also when everybody died with it, after the feed was told of their epochs.
    await two.advance(2_000)
    for (const host of two.hosts) two.kill(host)
    offset.ms = -7_200_000
    wipe(two)
    const later = two.deliveries.length
    await two.start('c')
    write(two)
    await two.until(() => two.isDrained())
    const last = epochsAround(two, later)
    expect(last.after).toBeGreaterThan(last.before)
  })

  test('PH-11 a host that is stopped while it recovers stops, and the others go on', async () => {
    const two = newFleet()
    const a = await two.start('a')
    await two.start('b')
    await two.until(() => two.isBalanced())
    wipe(two)
    await two.until(() => a.host.health().status === 'recovering')
    const startedMs = two.clock.monotonicMs()
    await two.stop(a)
    expect(two.clock.monotonicMs() - startedMs).toBeLessThan(1_000)
    expect(two.eventsOf(a, 'stopped')).toEqual([{ error: undefined }])
    write(two)
    await two.until(() => two.counts()['b'] === 4 && two.isDrained())
  })

  test('a lease store that cannot be reached when its data are gone is waited for', async () => {
    const one = newFleet()
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    wipe(one)
    await one.until(() => a.host.health().status === 'recovering')
    a.store.link = 'down'
    await one.advance(120_000)
    expect(a.host.health().status).toBe('recovering')
    expect(errorCode(a.host.health().lastError)).toBe('ERR_LEASE_STORE_UNAVAILABLE')
    a.store.link = 'up'
    write(one)
    await untilSettled(one)
  })

  test("'stop': every host stops, none starts, and the group goes on with 'recover'", async () => {
    const two = newFleet({ hostOptions: { onLeaseStoreLoss: 'stop' } })
    const a = await two.start('a')
    await two.until(() => two.isBalanced())
    write(two)
    await two.until(() => two.isDrained())
    // Small batches are stored together, a moment later.
    await two.advance(10)
    wipe(two)
    await two.until(() => a.host.health().status === 'stopped', 2 * HEARTBEAT_MS)
    expect(errorCode(two.eventsOf(a, 'stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
    expect(two.eventsOf(a, 'leaseStoreLost')).toMatchObject([{ action: 'stop' }])
    const b = two.create('b')
    await expect(two.run(two.register(b))).rejects.toMatchObject({ code: 'ERR_LEASES_VANISHED' })
    expect(await storedLsns(two)).toEqual([])
    write(two)
    await two.start('c', { hostOptions: { onLeaseStoreLoss: 'recover' } })
    await untilSettled(two)
    expect(two.duplicates().size).toBe(0)
  })

  test('a group whose leases somebody deleted, in a store that kept its data, stops after the time of a session', async () => {
    const one = newFleet()
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    const group = await one.leases.openGroup('group')
    await group.discard('by hand')
    await one.until(() => a.host.health().status === 'stopped', 2 * TTL_MS)
    expect(errorCode(one.eventsOf(a, 'stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
    expect(one.eventsOf(a, 'leaseStoreLost')).toEqual([])
  })
})

describe('hosts that start when the lease store has lost its data', () => {
  async function killAll(target: Fleet, hosts: readonly FleetHost[]): Promise<void> {
    for (const host of hosts) target.kill(host)
    wipe(target)
  }

  test('PH-4 all hosts died with it: only what was not told comes again', async () => {
    const two = newFleet({ behaviour: () => two.clock.sleep(20, never) })
    const hosts = [await two.start('a'), await two.start('b')]
    await two.until(() => two.isBalanced())
    for (let round = 0; round < 24; round += 1) {
      write(two, 8)
      await two.advance(100)
    }
    await killAll(two, hosts)
    const told = await mirrored(two)
    expect(Math.max(...told.map((position) => position.lsn))).toBeGreaterThan(0)
    const from = two.deliveries.length
    write(two)
    const c = await two.start('c')
    await untilSettled(two)
    expect(repeatedBelow(two, told, { from })).toEqual([])
    expect(two.eventsOf(c, 'leaseStoreLost')).toMatchObject([{ previousGeneration: undefined }])
    expect(two.eventsOf(c, 'recovered')).toMatchObject([{ byThisHost: true }])
  })

  test('PH-4 a mirror that is far behind: all since then comes again, and nothing is skipped', async () => {
    const one = newFleet()
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    await one.until(() => one.isDrained())
    await one.advance(3_000)
    const told = await mirrored(one)
    one.feed.positions.beforeReport = () => {
      throw new Error('positions down')
    }
    for (let round = 0; round < 10; round += 1) {
      write(one)
      await one.advance(1_000)
    }
    await killAll(one, [a])
    one.feed.positions.beforeReport = () => {}
    const from = one.deliveries.length
    await one.start('b')
    await one.until(
      () => one.deliveries.slice(from).flatMap(({ changes }) => changes).length === 640,
    )
    expect(repeatedBelow(one, told, { from })).toEqual([])
    expect(one.duplicates().size).toBe(640)
  })

  test('starting from now: what was written while there were no leases is delivered', async () => {
    const one = newFleet({ feedOptions: { startFromBeginning: false } })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    const from = one.feed.changes.length
    await killAll(one, [a])
    write(one)
    const written = one.feed.changes.length - from
    await one.start('b')
    await one.until(() => one.isDrained())
    expect(written).toBe(64)
  })

  test('leases that nobody has owned yet are in the mirror when registerObserver resolves', async () => {
    const one = newFleet({ feedOptions: { startFromBeginning: false } })
    write(one)
    const a = one.create('a', { hostOptions: { maxPartitionCount: 1 } })
    const registered = one.register(a)
    await one.run(registered)
    const told = await mirrored(one)
    one.kill(a)
    expect(told.map(({ range }) => feedRangeId(range))).toEqual(one.feed.ranges.map(feedRangeId))
    expect(told.reduce((sum, position) => sum + position.lsn, 0)).toBe(64)
  })

  test('a host that died between making the leases and telling the mirror: the next start completes it', async () => {
    const two = newFleet({ feedOptions: { startFromBeginning: false } })
    const a = two.create('a')
    a.store.onCall = (operation, when) => {
      if (operation === 'create' && when === 'after') two.kill(a)
    }
    void two.register(a).catch(() => {})
    await two.until(() => a.gate.isFrozen)
    expect(await mirrored(two)).toEqual([])
    const b = two.create('b')
    await two.run(two.register(b))
    expect(await mirrored(two)).toHaveLength(4)
    await killAll(two, [b])
    write(two)
    await two.start('c')
    await two.until(() => two.isDrained())
  })

  test('a mirror with holes is refused, naming the missing keys, by those that start and those that run', async () => {
    const one = newFleet({ ranges: 1 })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    // A feed that has lost some of them itself.
    const read = one.feed.positions.read.bind(one.feed.positions)
    one.feed.positions.read = async (group) => {
      const [first] = await read(group)
      return first === undefined
        ? []
        : [{ ...first, range: { minInclusive: '10', maxExclusive: '20' } }]
    }
    wipe(one)
    await one.until(() => a.host.health().status === 'stopped')
    const [{ error } = { error: undefined }] = one.eventsOf(a, 'stopped')
    expect(errorCode(error)).toBe('ERR_LEASES_VANISHED')
    expect(String(error)).toContain('-10, 20-FF')
    const b = one.create('b')
    await expect(one.run(one.register(b))).rejects.toThrow('for the keys -10, 20-FF')
    expect(await storedLsns(one)).toEqual([])
  })

  test('LE-8 a token that was used before the loss discards nothing after it; a new one does', async () => {
    const hostOptions = { discardExistingLeases: 'v1' }
    const one = newFleet({ hostOptions })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    write(one)
    await one.until(() => one.isDrained())
    await one.advance(2_000)
    await killAll(one, [a])
    const b = await one.start('b')
    await one.until(() => one.isBalanced())
    await one.advance(5_000)
    expect(one.duplicates().size).toBe(0)
    // Nor does a host that comes later, while the group runs on.
    await one.start('c')
    await one.until(() => one.isBalanced())
    expect(one.duplicates().size).toBe(0)
    expect(one.eventsOf(b, 'stopped')).toEqual([])
    for (const host of one.hosts) one.kill(host)
    wipe(one)
    await one.start('d', { hostOptions: { discardExistingLeases: 'v2' } })
    await one.until(() => one.duplicates().size === 64)
    await one.advance(3_000)
    // What it began with is what the mirror has now.
    one.kill(one.hosts.at(-1)!)
    wipe(one)
    await one.start('e', { hostOptions: { discardExistingLeases: 'v2' } })
    await one.until(() => one.isBalanced())
    await one.advance(5_000)
    expect(Math.max(...one.duplicates().values())).toBe(2)
  })

  test('LE-8 leases that were discarded leave no position in the mirror that is above those made for them', async () => {
    const one = newFleet()
    const a = await one.start('a')
    write(one)
    await one.until(() => one.isDrained())
    await one.stop(a)
    expect(Math.max(...(await mirrored(one)).map((position) => position.lsn))).toBeGreaterThan(0)
    const b = one.create('b', { hostOptions: { discardExistingLeases: 'v1' } })
    await one.run(one.register(b))
    one.kill(b)
    expect((await mirrored(one)).map((position) => position.lsn)).toEqual([0, 0, 0, 0])
  })

  test('LE-8 a host that died between discarding and telling the mirror: the next start sets the mirror back', async () => {
    const one = newFleet()
    const a = await one.start('a')
    write(one)
    await one.until(() => one.isDrained())
    await one.stop(a)
    const b = one.create('b', { hostOptions: { discardExistingLeases: 'v1' } })
    b.store.onCall = (operation, when) => {
      if (operation === 'create' && when === 'after') one.kill(b)
    }
    void one.register(b).catch(() => {})
    await one.until(() => b.gate.isFrozen)
    expect(Math.max(...(await mirrored(one)).map((position) => position.lsn))).toBeGreaterThan(0)
    const c = one.create('c')
    await one.run(one.register(c))
    one.kill(c)
    expect((await mirrored(one)).map((position) => position.lsn)).toEqual([0, 0, 0, 0])
    wipe(one)
    // Everything starts over, as whoever gave the token wished.
    await one.start('d')
    await one.until(() => one.duplicates().size === 64)
  })

  test('PH-6 a group of one pkrange recovers that range only', async () => {
    const one = newFleet()
    const range = one.feed.ranges[1]!
    const feedOptions = { partitionKeyRangeId: feedRangeId(range) }
    const a = await one.start('a', { feedOptions })
    await one.until(() => one.counts()['a'] === 1)
    write(one)
    await one.advance(3_000)
    await killAll(one, [a])
    const other = one.create('other')
    await expect(one.run(one.register(other))).rejects.toMatchObject({
      code: 'ERR_LEASES_VANISHED',
    })
    const wrong = one.create('wrong', {
      feedOptions: { partitionKeyRangeId: feedRangeId(one.feed.ranges[2]!) },
    })
    await expect(one.run(one.register(wrong))).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    const b = await one.start('b', { feedOptions })
    await one.until(() => one.counts()['b'] === 1)
    expect(b.host.health().leases.map(({ leaseId }) => leaseId)).toEqual([feedRangeId(range)])
    expect(one.duplicates().size).toBe(0)
    // Also while it runs, and when the range was split meanwhile.
    wipe(one)
    one.feed.split(range)
    await one.until(() => one.counts()['b'] === 0)
    await one.until(() => one.counts()['b'] === 2)
    expect(one.duplicates().size).toBe(0)
  })

  test('a store that ends with its process on purpose begins a group anew with each, as before', async () => {
    const one = newFleet()
    const a = await one.start('a')
    write(one)
    await one.until(() => one.isDrained())
    await one.stop(a)
    wipe(one)
    const b = one.create('b')
    Object.assign(b.store, { endsWithProcess: true })
    await one.run(one.register(b), 1_000)
    await one.until(() => one.duplicates().size === 64)
  })
})
