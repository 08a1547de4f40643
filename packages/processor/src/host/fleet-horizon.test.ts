import { describe, expect, test } from 'vitest'
import { errorCode, type FeedRange, type Resynchronization } from '@tidemark/contracts'
import { type Fleet, assertFleetHistory, type FleetHost } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const newFleet = fleetsWith({ ranges: 2 })

function write(target: Fleet, count = 32): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n}`)
}

function firstRange({ feed }: Fleet): FeedRange {
  return feed.ranges[0]!
}

/** A host has read everything, has gone, and what was written since is purged in the first range. */
async function comeTooLate(target: Fleet): Promise<void> {
  const before = await target.start('before')
  write(target)
  await target.until(() => target.isDrained())
  await target.stop(before)
  write(target)
  target.feed.passHorizon(firstRange(target))
}

async function storedLsns(target: Fleet): Promise<number[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ checkpoint }) => checkpoint.lsn)
}

describe("onHorizonPassed: 'fail'", () => {
  test('TTL-15 the range stands still, loudly and with its lease; others go on', async () => {
    const one = newFleet()
    await comeTooLate(one)
    const [stored] = await storedLsns(one)
    const deliveries = one.deliveries.length
    const a = await one.start('a')
    await one.advance(10_000)
    const [passed] = one.eventsOf(a, 'horizonPassed')
    expect(passed).toMatchObject({ range: firstRange(one), lsn: stored, action: 'halt' })
    expect(passed!.horizon).toBeGreaterThan(stored!)
    const late = one.deliveries.slice(deliveries)
    expect(late.map(({ leaseId }) => leaseId)).not.toContain(passed?.leaseId)
    expect(late.length).toBeGreaterThan(0)
    expect((await storedLsns(one))[0]).toBe(stored)
    const health = a.host.health()
    expect(health.status).toBe('degraded')
    const halted = health.leases.find(({ leaseId }) => leaseId === passed?.leaseId)
    expect(halted?.state).toBe('running')
    expect(errorCode(halted?.lastError)).toBe('ERR_HORIZON_PASSED')
    expect(one.eventsOf(a, 'feedError')).toEqual([])
  })

  test('TTL-15 it is looked at again every 30 s, and no more often', async () => {
    const one = newFleet({ ranges: 1 })
    await comeTooLate(one)
    const a = await one.start('a')
    await one.advance(100)
    const reads = one.feed.reads
    await one.advance(120_000)
    expect(one.feed.reads - reads).toBe(4)
    expect(one.eventsOf(a, 'horizonPassed')).toHaveLength(5)
  })

  test('TTL-15 what was read before the horizon passed is delivered', async () => {
    const one = newFleet({
      ranges: 1,
      hostOptions: { readAheadPages: 3 },
      feedOptions: { startFromBeginning: true, maxItemCount: 8 },
      behaviour: () => one.clock.sleep(100, new AbortController().signal),
    })
    write(one)
    const a = await one.start('a')
    await one.until(() => one.deliveries.length === 1)
    write(one)
    one.feed.passHorizon(firstRange(one))
    await one.until(() => one.eventsOf(a, 'horizonPassed').length > 0)
    await one.advance(1_000)
    expect(one.deliveries.map(({ changes }) => changes.length)).toEqual([8, 8, 8, 8])
    expect(one.deliveries.every(({ outcome }) => outcome === 'done')).toBe(true)
  })
})

describe("onHorizonPassed: 'resync'", () => {
  const feedOptions = { startFromBeginning: true, onHorizonPassed: 'resync' } as const

  test('TTL-15 the observer is told, then the range comes again from the beginning, under a new epoch', async () => {
    const told: Resynchronization[] = []
    const one = newFleet({
      feedOptions,
      resynchronize: (_context, resync) => void told.push(resync),
    })
    await comeTooLate(one)
    const [stored] = await storedLsns(one)
    const deliveries = one.deliveries.length
    const a = await one.start('a')
    await one.until(() => one.isDrained())
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ range: firstRange(one), lsn: stored })
    const [passed] = one.eventsOf(a, 'horizonPassed')
    expect(passed).toMatchObject({ action: 'resync' })
    const { horizon, untilLsn } = told[0]!
    expect(one.eventsOf(a, 'resynchronized')).toEqual([
      {
        leaseId: passed!.leaseId,
        epoch: passed!.epoch,
        range: firstRange(one),
        lsn: stored,
        horizon,
        untilLsn,
      },
    ])
    const again = one.deliveries
      .slice(deliveries)
      .filter(({ leaseId }) => leaseId === passed!.leaseId)
    expect(again[0]?.changes[0]?.lsn).toBe(1)
    expect(again.at(-1)?.changes.at(-1)?.lsn).toBe(untilLsn)
    for (const { epoch } of again) expect(epoch).toBeGreaterThan(passed!.epoch)
    const calls = one.calls.filter(
      ({ host, leaseId }) => host === 'a' && leaseId === passed!.leaseId,
    )
    expect(calls.slice(0, 5).map(({ call }) => call)).toEqual([
      'open',
      'resynchronize',
      'close',
      'open',
      'process',
    ])
    expect(calls[2]?.reason).toBe('resynchronized')
    await one.until(() => a.host.health().leases.every(({ checkpointLsn }) => checkpointLsn > 0))
    expect(a.host.health().status).toBe('running')
  })

  test('TTL-15 an observer that refuses is asked again as for a batch, and the range waits', async () => {
    let attempts = 0
    const one = newFleet({
      feedOptions,
      ranges: 1,
      resynchronize: () => {
        attempts += 1
        if (attempts < 4) throw new Error('not yet')
      },
    })
    await comeTooLate(one)
    const a = await one.start('a')
    await one.until(() => one.isDrained())
    expect(attempts).toBe(4)
    const errors = one.eventsOf(a, 'observerError')
    expect(errors.map(({ phase, attempt }) => `${phase} ${attempt}`)).toEqual([
      'resynchronize 1',
      'resynchronize 2',
      'resynchronize 3',
    ])
  })

  test('TTL-15 an observer without resynchronize gets the range again all the same', async () => {
    const one = newFleet({ feedOptions, ranges: 1 })
    await comeTooLate(one)
    const a = one.create('a')
    const seen: number[] = []
    await one.run(
      a.host.registerObserver({
        processChanges: (_context, changes) => void seen.push(...changes.map(({ lsn }) => lsn)),
      }),
    )
    await one.until(() => seen.length === 64)
    expect(seen[0]).toBe(1)
  })

  test('TTL-15 PH-4 a host that dies at any step of it: the next one resynchronises, or goes on after it', async () => {
    const died = new Set<string>()
    for (let step = 0; step < 8; step += 1) {
      let told = 0
      const two = newFleet({ feedOptions, ranges: 1, resynchronize: () => void (told += 1) })
      await comeTooLate(two)
      const a = two.create('a')
      const registered = two.register(a)
      let calls = -1
      a.store.onCall = (operation, when) => {
        if (told === 0) return
        calls += 1
        if (calls !== step) return
        died.add(`${operation} ${when}`)
        two.kill(a)
      }
      await two.run(registered)
      await two.until(() => a.gate.isFrozen || two.isDrained())
      await two.start('b')
      await two.until(() => two.coversAll() && two.isDrained(), 30_000)
      a.store.onCall = () => {}
      expect(told).toBeGreaterThan(0)
      expect(told).toBeLessThanOrEqual(2)
      assertFleetHistory(two)
      await two.end()
    }
    expect([...died]).toEqual(expect.arrayContaining(['replace before', 'replace after']))
  })

  test('TTL-15 LE-10 a range that splits while its observer is told: each part is told for itself', async () => {
    const told: string[] = []
    const one = newFleet({
      feedOptions,
      ranges: 1,
      resynchronize: async ({ leaseId }) => {
        told.push(leaseId)
        if (told.length > 1) return
        one.feed.split(firstRange(one))
        await one.clock.sleep(50, new AbortController().signal)
      },
    })
    await comeTooLate(one)
    await one.start('a')
    await one.until(() => one.isDrained() && one.matchesRanges())
    expect(told[0]).toBe('-FF')
  })

  test('TTL-15 the last report of a group that begins anew is its lower position', async () => {
    const one = newFleet({ feedOptions, ranges: 1 })
    await comeTooLate(one)
    await one.advance(5_000)
    const [before] = await one.feed.positions.read('group')
    expect(before?.lsn).toBeGreaterThan(0)
    const reports = one.feed.positions.reports.length
    one.behaviour = () => one.clock.sleep(3_000, new AbortController().signal)
    await one.start('a')
    await one.until(() => one.isDrained())
    await one.advance(5_000)
    const lsns = one.feed.positions.reports.slice(reports).map(([position]) => position!.lsn)
    expect(lsns).toContain(0)
    expect(lsns.at(-1)).toBe(64)
  })
})

describe('modes', () => {
  test('CF-11 allVersions is what start, pages, waits and resynchronisation are asked for', async () => {
    const one = newFleet({
      ranges: 1,
      feedOptions: { startFromBeginning: true, mode: 'allVersions' },
    })
    write(one)
    const a: FleetHost = await one.start('a')
    // Positions of one mode are refused in the other: any call that forgot the mode would fail.
    await one.until(() => one.isDrained())
    write(one)
    await one.until(() => one.isDrained(), 100)
    expect(one.eventsOf(a, 'feedError')).toEqual([])
    const group = await one.leases.openGroup('group')
    const [lease] = (await group.read()).leases
    expect(lease?.checkpoint.continuation).toContain(';A;')
  })
})
