import { expect, test } from 'vitest'
import {
  effectivePartitionKey,
  feedRangeId,
  partitionKeyDefinition,
  rangeContainsEpk,
} from '@tidemark/contracts'
import type { Fleet } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const never = new AbortController().signal
const newFleet = fleetsWith({ ranges: 8 })
const KEYS = Array.from({ length: 64 }, (_, index) => `key${index}`)
const BY_LOAD = { startFromBeginning: true, balanceBy: 'load' as const }

async function work(fleet: Fleet, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    for (const key of KEYS) fleet.feed.append(key)
    await fleet.advance(1_000)
  }
}

/** A fleet whose first two leases take 10 ms a change, and both begin with one host. */
function skewedFleet(feedOptions = BY_LOAD): {
  fleet: Fleet
  ownersOfHot: () => (string | undefined)[]
  handOvers: () => number
} {
  const fleet: Fleet = newFleet({
    feedOptions,
    behaviour: async ({ leaseId }, changes) => {
      if (hot.includes(leaseId)) await fleet.clock.sleep(10 * changes.length, never)
    },
  })
  const hot = fleet.feed.ranges.slice(0, 2).map(feedRangeId)
  const owner = (id: string): string | undefined =>
    fleet.hosts.find(({ host }) => host.health().leases.some(({ leaseId }) => leaseId === id))?.name
  return {
    fleet,
    ownersOfHot: () => hot.map(owner),
    handOvers: () =>
      fleet.hosts
        .flatMap((member) => fleet.eventsOf(member, 'leaseReleased'))
        .filter(({ reason }) => reason === 'leaseHandedOver').length,
  }
}

test('PH-14 two leases that cost much end on two hosts, by one hand-over that repeats nothing', async () => {
  const { fleet, ownersOfHot, handOvers } = skewedFleet()
  for (const name of ['a', 'b']) await fleet.start(name)
  await fleet.until(() => fleet.isBalanced())
  expect(new Set(ownersOfHot()).size).toBe(1)
  const before = handOvers()
  await work(fleet, 180)
  expect(new Set(ownersOfHot()).size).toBe(2)
  expect(handOvers() - before).toBe(1)
  await work(fleet, 300)
  expect(handOvers() - before).toBe(1)
  await fleet.until(() => fleet.isDrained())
  expect(fleet.duplicates().size).toBe(0)
})

test('PH-14 by count they stay together', async () => {
  const { fleet, ownersOfHot } = skewedFleet({ ...BY_LOAD, balanceBy: 'count' as never })
  for (const name of ['a', 'b']) await fleet.start(name)
  await fleet.until(() => fleet.isBalanced())
  await work(fleet, 180)
  expect(new Set(ownersOfHot()).size).toBe(1)
})

test('PH-14 a host that comes gets its share of the load, and one that goes leaves it to the others', async () => {
  const { fleet, ownersOfHot } = skewedFleet()
  const a = await fleet.start('a')
  await work(fleet, 90)
  await fleet.start('b')
  await fleet.until(() => new Set(ownersOfHot()).size === 2)
  await work(fleet, 30)
  await fleet.stop(a)
  await fleet.until(() => ownersOfHot().every((name) => name === 'b') && fleet.coversAll())
})

test('PH-14 while one host counts all count', async () => {
  const { fleet, ownersOfHot } = skewedFleet()
  await fleet.start('a')
  await fleet.start('b', { feedOptions: { ...BY_LOAD, balanceBy: 'count' } })
  await work(fleet, 180)
  expect(new Set(ownersOfHot()).size).toBe(1)
  expect(fleet.isBalanced()).toBe(true)
})

/** A key of each of the first four ranges, and of each of the others. */
function keysOf({ feed }: Fleet): readonly (readonly string[])[] {
  const definition = partitionKeyDefinition('/key')
  const keyIn = feed.ranges.map((range) => {
    for (let n = 0; ; n += 1) {
      if (rangeContainsEpk(range, effectivePartitionKey([`k${n}`], definition))) return `k${n}`
    }
  })
  return [keyIn.slice(0, 4), keyIn.slice(4)]
}

/** Changes that four hosts, each with one call at a time, process in a minute of 64 ranges of which 4 have 90 %. */
async function processed(
  balanceBy: 'count' | 'load',
): Promise<{ changes: number; handOvers: number }> {
  const fleet = newFleet({
    ranges: 64,
    feedOptions: { startFromBeginning: true, maxItemCount: 20, balanceBy },
    hostOptions: { maxConcurrentObservers: 1 },
    behaviour: (_context, changes) => fleet.clock.sleep(20 * changes.length, never),
  })
  for (const name of ['a', 'b', 'c', 'd']) await fleet.start(name)
  await fleet.until(() => fleet.isBalanced(64))
  const [hot = [], cold = []] = keysOf(fleet)
  const seconds = async (count: number): Promise<void> => {
    for (let second = 0; second < count; second += 1) {
      for (const key of hot) fleet.feed.append(key, 39)
      for (let n = 0; n < 17; n += 1) fleet.feed.append(cold[(17 * second + n) % cold.length]!)
      await fleet.advance(1_000)
    }
  }
  // Until the hosts have measured, and have moved what they move.
  await seconds(240)
  const before = fleet.deliveries.length
  await seconds(60)
  const done = fleet.deliveries.slice(before).filter(({ outcome }) => outcome === 'done')
  const handOvers = fleet.hosts
    .flatMap((member) => fleet.eventsOf(member, 'leaseReleased'))
    .filter(({ reason }) => reason === 'leaseHandedOver').length
  return { changes: done.reduce((sum, { changes }) => sum + changes.length, 0), handOvers }
}

test('PH-14 of 64 ranges 4 have 90 % of the changes: by load four hosts do twice as much as by count, or more', async () => {
  const byCount = await processed('count')
  const byLoad = await processed('load')
  expect(byLoad.changes).toBeGreaterThanOrEqual(2 * byCount.changes)
  expect(byLoad.handOvers - byCount.handOvers).toBeLessThanOrEqual(8)
})

test('PH-14 equal leases of hosts that cannot keep up come to rest', async () => {
  const fleet: Fleet = newFleet({
    ranges: 5,
    feedOptions: { ...BY_LOAD, maxItemCount: 20 },
    hostOptions: { maxConcurrentObservers: 1 },
    behaviour: (_context, changes) => fleet.clock.sleep(20 * changes.length, never),
  })
  for (const name of ['a', 'b']) await fleet.start(name)
  await fleet.until(() => fleet.isBalanced(5))
  const keys = keysOf(fleet).flat()
  const handedOver = async (minutes: number): Promise<number> => {
    for (let second = 0; second < 60 * minutes; second += 1) {
      for (const key of keys) fleet.feed.append(key, 20)
      await fleet.advance(1_000)
    }
    return fleet.hosts
      .flatMap((member) => fleet.eventsOf(member, 'leaseReleased'))
      .filter(({ reason }) => reason === 'leaseHandedOver').length
  }
  const early = await handedOver(5)
  expect(await handedOver(8)).toBe(early)
})
