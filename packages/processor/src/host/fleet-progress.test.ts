import { Fleet, type FleetHost, type FleetOptions } from '@tidemark/testing'
import { afterEach, expect, test } from 'vitest'
import type { LeaseHealth } from './host-health.ts'

const fleets: Fleet[] = []
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.end()
})

async function startOne(options: FleetOptions = {}): Promise<{ fleet: Fleet; member: FleetHost }> {
  const fleet = new Fleet({ ranges: 1, feedOptions: { startFromBeginning: true }, ...options })
  fleets.push(fleet)
  const member = await fleet.start('a')
  await fleet.until(() => leaseOf(member)?.caughtUp === true || fleet.deliveries.length > 0)
  return { fleet, member }
}

function leaseOf({ host }: FleetHost): LeaseHealth | undefined {
  return host.health().leases.find(({ state }) => state === 'running')
}

test('PH-9 PH-10 each lease tells what was done, when last, and that nothing is left', async () => {
  const { fleet, member } = await startOne({
    feedOptions: { startFromBeginning: true, maxItemCount: 4 },
  })
  expect(leaseOf(member)).toMatchObject({
    changes: 0,
    batches: 0,
    lastProgressMs: undefined,
    caughtUp: true,
    noProgressForMs: 0,
  })
  for (let n = 0; n < 10; n += 1) fleet.feed.append(`key-${n}`)
  await fleet.until(() => fleet.isDrained())
  const doneAtMs = fleet.clock.wallMs()
  await fleet.advance(60_000)
  const lease = leaseOf(member)
  expect(lease).toMatchObject({ changes: 10, caughtUp: true, noProgressForMs: 0, doneLsn: 10 })
  expect(lease?.batches).toBe(fleet.deliveries.length)
  expect(lease?.batches).toBeGreaterThan(1)
  expect(Math.abs(doneAtMs - (lease?.lastProgressMs ?? 0))).toBeLessThan(100)
})

test('PH-9 with manual checkpoints, and with lanes, it shows that all is done as well', async () => {
  for (const hostOptions of [
    { checkpointFrequency: 'manual' },
    { maxConcurrentKeys: 4 },
  ] as const) {
    const { fleet, member } = await startOne({ hostOptions })
    for (let n = 0; n < 30; n += 1) fleet.feed.append(`key-${n % 7}`)
    await fleet.until(() => fleet.isDrained())
    await fleet.until(() => leaseOf(member)?.caughtUp === true)
    expect(leaseOf(member)).toMatchObject({ changes: 30, doneLsn: 30, noProgressForMs: 0 })
  }
})

test('PH-9 PH-10 an observer that hangs, or fails again and again, makes no progress', async () => {
  for (const fault of ['hangs', 'fails'] as const) {
    const { fleet, member } = await startOne()
    const hold = Promise.withResolvers<void>()
    await fleet.advance(100_000)
    fleet.behaviour = () =>
      fault === 'hangs' ? hold.promise : Promise.reject(new Error('not today'))
    fleet.feed.append('key')
    await fleet.advance(30_000)
    const stuck = leaseOf(member)
    expect(stuck).toMatchObject({ caughtUp: false, changes: 0 })
    // Not since it was last idle: since there is something to do.
    expect(stuck?.noProgressForMs).toBeGreaterThan(29_000)
    expect(stuck?.noProgressForMs).toBeLessThan(31_000)
    fleet.behaviour = () => {}
    hold.resolve()
    await fleet.until(() => leaseOf(member)?.caughtUp === true)
    expect(leaseOf(member)).toMatchObject({ noProgressForMs: 0, changes: 1, batches: 1 })
  }
})

test('PH-9 PH-10 a feed that fails counts from its first failure, however often it is asked', async () => {
  let isBroken = false
  const { fleet, member } = await startOne({
    waiting: false,
    beforeRead: () => {
      if (isBroken) throw new Error('no feed')
    },
  })
  await fleet.advance(100_000)
  expect(leaseOf(member)?.noProgressForMs).toBe(0)
  isBroken = true
  await fleet.advance(20_000)
  const broken = leaseOf(member)
  expect(fleet.eventsOf(member, 'feedError').length).toBeGreaterThan(3)
  expect(broken?.noProgressForMs).toBeGreaterThan(15_000)
  expect(broken?.noProgressForMs).toBeLessThan(21_000)
  isBroken = false
  await fleet.until(() => leaseOf(member)?.caughtUp === true)
  await fleet.advance(50_000)
  isBroken = true
  await fleet.advance(5_000)
  // The earlier series is forgotten.
  expect(leaseOf(member)?.noProgressForMs).toBeLessThan(6_000)
})

test('PH-9 TTL-15 a range that stands still behind a horizon counts from when it came there', async () => {
  const { fleet, member } = await startOne({ feedOptions: {} })
  let isHeld = true
  const hold = Promise.withResolvers<void>()
  fleet.behaviour = () => (isHeld ? hold.promise : undefined)
  for (let n = 0; n < 3; n += 1) fleet.feed.append('key')
  await fleet.until(() => fleet.deliveries.length > 0)
  fleet.feed.append('key')
  fleet.feed.passHorizon(fleet.feed.ranges[0]!)
  isHeld = false
  hold.resolve()
  await fleet.until(() => fleet.eventsOf(member, 'horizonPassed').length > 0)
  await fleet.advance(100_000)
  expect(fleet.eventsOf(member, 'horizonPassed').length).toBeGreaterThan(2)
  expect(leaseOf(member)?.noProgressForMs).toBeGreaterThan(90_000)
})
