import { afterEach, expect, test } from 'vitest'
import { Fleet, assertFleetHistory, type FleetOptions } from '@tidemark/testing'

const HEARTBEAT_MS = 2_000
/** Every so many beats a host compares what it holds with what the store says. */
const DIGEST_MS = 10 * HEARTBEAT_MS
const BATCH = 8

let fleet: Fleet | undefined

function newFleet(options: FleetOptions = {}): Fleet {
  const feedOptions = { startFromBeginning: true, maxItemCount: BATCH }
  fleet = new Fleet({ ranges: 4, feedOptions, ...options })
  return fleet
}

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  assertFleetHistory(ended)
  await ended.end()
})

function write(target: Fleet, count = 64): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n % 32}`)
}

async function storedLsns(target: Fleet): Promise<number[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ checkpoint }) => checkpoint.lsn)
}

test('I2 positions that the store forgot are stored again by their live owner, and nothing comes again', async () => {
  const one = newFleet()
  const a = await one.start('a')
  await one.until(() => one.isBalanced())
  const snapshot = one.memory.snapshot()
  write(one)
  await one.until(() => one.isDrained())
  await one.advance(1_000)
  const stored = await storedLsns(one)
  one.memory.restore(snapshot)
  expect(await storedLsns(one)).not.toEqual(stored)
  await one.advance(DIGEST_MS + HEARTBEAT_MS)
  expect(await storedLsns(one)).toEqual(stored)
  expect(one.eventsOf(a, 'leaseLost')).toEqual([])
  expect(one.duplicates().size).toBe(0)
})

test('PH-4 positions that the store forgot when their owner died come again, as many as it forgot', async () => {
  const one = newFleet({ ranges: 1 })
  const a = await one.start('a')
  write(one)
  await one.until(() => one.isDrained())
  await one.advance(100)
  const snapshot = one.memory.snapshot()
  write(one, 16)
  await one.until(() => one.isDrained())
  await one.advance(100)
  one.kill(a)
  one.memory.restore(snapshot)
  await one.start('b')
  await one.until(() => one.duplicates().size > 0)
  await one.advance(5_000)
  expect(one.duplicates().size).toBe(16)
  expect(await storedLsns(one)).toEqual([80])
})

test('I3 PH-4 positions and owners that the store forgot: each lease has one owner again, whose epoch is above all, and nothing is skipped', async () => {
  const two = newFleet()
  const a = await two.start('a')
  await two.until(() => two.isBalanced())
  await two.advance(HEARTBEAT_MS)
  const snapshot = two.memory.snapshot()
  // Half of its leases go to another host, which works on them.
  const b = await two.start('b')
  await two.until(() => two.isBalanced())
  write(two)
  await two.until(() => two.isDrained())
  const epochs = new Map(two.deliveries.map(({ leaseId, epoch }) => [leaseId, epoch]))
  // The store gives them back to the first, whose session it remembers, and knows nothing of the second.
  two.memory.restore(snapshot)
  write(two)
  await two.until(() => two.isBalanced() && two.isDrained(), 60_000)
  expect(two.eventsOf(b, 'fenced')).toHaveLength(1)
  await two.advance(DIGEST_MS + HEARTBEAT_MS)
  write(two)
  await two.until(() => two.isDrained())
  expect(two.counts()).toEqual({ a: 2, b: 2 })
  for (const { leaseId, epoch } of two.deliveries.slice(-4)) {
    expect(epoch).toBeGreaterThanOrEqual(epochs.get(leaseId)!)
  }
  expect(Math.max(...(await storedLsns(two)))).toBe(
    Math.max(...two.feed.changes.map(({ lsn }) => lsn)),
  )
  expect(two.eventsOf(a, 'stopped')).toEqual([])
})
