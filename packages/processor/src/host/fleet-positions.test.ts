import { expect, test } from 'vitest'
import type { Fleet } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const never = new AbortController().signal

const newFleet = fleetsWith({ ranges: 2 })

function write(target: Fleet, count = 32): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n}`)
}

async function storedLsns(target: Fleet): Promise<number[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ checkpoint }) => checkpoint.lsn)
}

async function reportedLsns(target: Fleet): Promise<number[]> {
  return (await target.feed.positions.read('group')).map(({ lsn }) => lsn)
}

test('TTL-14 stored positions are reported, of all ranges together, about once a second', async () => {
  const one = newFleet({ behaviour: () => one.clock.sleep(2, never) })
  await one.start('a')
  await one.until(() => one.isBalanced())
  const before = one.feed.positions.reports.length
  for (let round = 0; round < 100; round += 1) {
    write(one, 8)
    await one.advance(100)
  }
  await one.advance(2_000)
  expect(one.feed.positions.reports.length - before).toBeLessThanOrEqual(13)
  expect(await reportedLsns(one)).toEqual(await storedLsns(one))
  const seen = one.feed.positions.reports.flat()
  // Besides the epochs of the leases, which came before.
  const groups = seen.slice(before).map(({ group }) => group)
  expect(new Set(groups.filter((group) => !group.startsWith('epochs/')))).toEqual(
    new Set(['group']),
  )
})

test('TTL-14 a position is reported only after it is stored', async () => {
  const one = newFleet({ ranges: 1 })
  const a = await one.start('a')
  await one.until(() => one.isBalanced())
  await one.advance(5_000)
  a.store.link = 'silent'
  write(one)
  await one.advance(1_500)
  expect(Math.max(...(await reportedLsns(one)))).toBe(0)
  a.store.link = 'up'
  await one.until(() => one.isDrained())
  await one.advance(3_000)
  expect(await reportedLsns(one)).toEqual([32])
})

test('TTL-14 what a host that stops has stored last is reported before it has stopped', async () => {
  const one = newFleet({ hostOptions: { checkpointFrequency: { everyMs: 60_000 } } })
  const a = await one.start('a')
  write(one)
  await one.until(() => one.isDrained())
  await one.stop(a)
  expect(await reportedLsns(one)).toEqual(await storedLsns(one))
  expect(Math.max(...(await storedLsns(one)))).toBeGreaterThan(0)
})

test('TTL-14 PH-10 a report that fails is an event and comes again; work goes on meanwhile', async () => {
  const one = newFleet()
  let isDown = true
  const a = await one.start('a')
  one.feed.positions.beforeReport = () => {
    if (isDown) throw new Error('positions down')
  }
  write(one)
  await one.until(() => one.isDrained(), 200)
  await one.advance(10_000)
  const failures = one.eventsOf(a, 'positionReportFailed')
  expect(failures.length).toBeGreaterThan(2)
  expect(failures.length).toBeLessThan(6)
  expect(failures[0]?.error).toEqual(new Error('positions down'))
  expect(failures.map(({ attempt }) => attempt)).toEqual(failures.map((_, index) => index + 1))
  expect(a.host.health().status).toBe('running')
  isDown = false
  await one.advance(30_000)
  expect(await reportedLsns(one)).toEqual(await storedLsns(one))
})

test('TTL-14 a feed that never answers a report does not keep a host from stopping', async () => {
  const one = newFleet()
  const a = await one.start('a')
  one.feed.positions.beforeReport = () => new Promise(() => {})
  write(one)
  await one.until(() => one.isDrained())
  const startedMs = one.clock.monotonicMs()
  await one.stop(a)
  expect(one.clock.monotonicMs() - startedMs).toBeLessThan(4_000)
})

test('TTL-14 the next owner reports where it begins, if the last one died before it could', async () => {
  const one = newFleet({ ranges: 1 })
  const a = await one.start('a')
  one.feed.positions.beforeReport = () => {
    throw new Error('positions down')
  }
  write(one)
  await one.until(() => one.isDrained())
  await one.until(() => a.host.health().leases[0]?.checkpointLsn === 32)
  one.kill(a)
  one.feed.positions.beforeReport = () => {}
  await one.start('b')
  await one.until(() => one.counts()['b'] === 1)
  await one.advance(2_000)
  expect(await reportedLsns(one)).toEqual([32])
})

test('TTL-14 a late report of an earlier owner is put right, also of a range that has nothing new', async () => {
  const one = newFleet({ ranges: 1 })
  await one.start('a')
  write(one)
  await one.until(() => one.isDrained())
  await one.advance(2_000)
  const [range] = one.feed.ranges
  const [late] = one.feed.positions.reports[0]!
  await one.feed.positions.report([{ ...late!, range: range! }])
  expect(await reportedLsns(one)).not.toEqual([32])
  await one.advance(600_000)
  expect(await reportedLsns(one)).toEqual([32])
})

test('TTL-14 LE-10 children and joined leases are reported in the place of what they replace', async () => {
  const one = newFleet({ ranges: 1 })
  await one.start('a')
  write(one)
  await one.until(() => one.isDrained())
  one.feed.split(one.feed.ranges[0]!)
  await one.until(() => one.matchesRanges())
  await one.advance(2_000)
  expect(await reportedLsns(one)).toEqual([32, 32])
  one.feed.merge(one.feed.ranges[0]!)
  await one.until(() => one.matchesRanges(), 400_000)
  await one.advance(2_000)
  expect(await reportedLsns(one)).toEqual(await storedLsns(one))
})

test('TTL-14 a range whose pages are empty moves on, every 5 s at most, so that it holds up no purge', async () => {
  const two = newFleet({ ranges: 2, waiting: false, hostOptions: { feedPollDelayMs: 100 } })
  const hosts = [await two.start('a'), await two.start('b')]
  await two.until(() => two.isBalanced())
  // One pkrange, two leases of two hosts: all keys are in one, and the other reads nothing but empty pages.
  two.feed.merge(two.feed.ranges[0]!)
  for (let round = 0; round < 200; round += 1) {
    two.feed.append('key0')
    await two.advance(100)
  }
  expect(Math.min(...(await storedLsns(two)))).toBeGreaterThan(100)
  expect(Math.min(...(await reportedLsns(two)))).toBeGreaterThan(100)
  const counts = hosts.map((host) => two.eventsOf(host, 'checkpointed').length)
  expect(Math.min(...counts)).toBeLessThanOrEqual(5)
  expect(Math.max(...counts)).toBeGreaterThan(100)
})

test('LE-13 an idle group stores nothing and reports nothing', async () => {
  const one = newFleet()
  const a = await one.start('a')
  write(one)
  await one.until(() => one.isDrained())
  await one.advance(40_000)
  const reports = one.feed.positions.reports.length
  a.store.calls.length = 0
  await one.advance(60_000)
  expect(new Set(a.store.calls)).toEqual(new Set(['sync:beat']))
  expect(one.feed.positions.reports.length).toBe(reports)
})
