import { expect, test } from 'vitest'
import { assertFleetHistory, type Fleet } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'
import { write } from './letter-box.fixture.ts'

const BATCH = 4
const never = new AbortController().signal
const FAR_BEHIND = {
  ranges: 1,
  feedOptions: { startFromBeginning: true, maxItemCount: BATCH },
}
const newFleet = fleetsWith(FAR_BEHIND)
const newFleetWithLanes = fleetsWith(FAR_BEHIND, (fleet) =>
  assertFleetHistory(fleet, { lanes: true }),
)

/** Whose observers are faster than its feed. */
function slowFeedFleet(): Fleet {
  const fleet: Fleet = newFleet({ beforeRead: () => fleet.clock.sleep(5, never) })
  return fleet
}

test('CF-16 a host that is far behind reads several pages at once, and no batch is larger than asked', async () => {
  const fleet = slowFeedFleet()
  write(fleet, 100 * BATCH)
  await fleet.start('a')
  await fleet.until(() => fleet.isDrained())
  expect(fleet.deliveries.map(({ changes }) => changes.length)).toEqual(Array(100).fill(BATCH))
  expect(fleet.feed.reads).toBeLessThan(20)
})

test('CF-16 CF-7 transactions stay whole in batches that were read together', async () => {
  const fleet = slowFeedFleet()
  for (let key = 0; key < 60; key += 1) fleet.feed.append(`key${key}`, 1 + (key % 6))
  await fleet.start('a')
  await fleet.until(() => fleet.isDrained())
  const lsnsOf = fleet.deliveries.map(({ changes }) => new Set(changes.map(({ lsn }) => lsn)))
  expect(fleet.feed.reads).toBeLessThan(fleet.deliveries.length)
  for (const [index, lsns] of lsnsOf.entries()) {
    const { changes } = fleet.deliveries[index]!
    // Without its last transaction there was room.
    expect(changes.filter(({ lsn }) => lsn !== changes.at(-1)?.lsn).length).toBeLessThan(BATCH)
    const next = lsnsOf[index + 1]
    if (next !== undefined) expect([...next].some((at) => lsns.has(at))).toBe(false)
  }
})

test('CF-16 a host that is not faster than its reads reads page by page', async () => {
  const fleet: Fleet = newFleet({ behaviour: () => fleet.clock.sleep(10, never) })
  write(fleet, 20 * BATCH)
  await fleet.start('a')
  await fleet.until(() => fleet.isDrained())
  expect(fleet.feed.reads).toBeGreaterThan(10)
})

test('CF-16 PH-5 with manual checkpoints a position within what was read at once is stored, and the next host goes on there', async () => {
  const fleet: Fleet = newFleet({
    beforeRead: () => fleet.clock.sleep(5, never),
    hostOptions: { checkpointFrequency: 'manual' },
  })
  const stored: number[] = []
  fleet.behaviour = async (context, changes) => {
    const { lsn } = changes.at(-1)!
    // Batches within a read, and where one ends.
    if (lsn % (7 * BATCH) !== 0) return
    await context.checkpoint()
    stored.push(lsn)
  }
  write(fleet, 100 * BATCH)
  const a = await fleet.start('a')
  await fleet.until(() => fleet.isDrained())
  expect(fleet.feed.reads).toBeLessThan(20)
  expect(stored).toHaveLength(14)
  await fleet.stop(a)
  await fleet.start('b')
  await fleet.until(() => fleet.deliveries.some(({ host }) => host === 'b'))
  const { changes } = fleet.deliveries.find(({ host }) => host === 'b')!
  expect(changes.map(({ lsn }) => lsn)).toEqual([393, 394, 395, 396])
})

test('CF-16 PH-7 a damaged text in the last of the pages that were read together is found before an observer gets it', async () => {
  const fleet: Fleet = newFleetWithLanes({
    beforeRead: () => fleet.clock.sleep(5, never),
    hostOptions: { maxConcurrentKeys: 100, retryDelayMs: 50, retryMaxDelayMs: 100 },
  })
  for (let key = 0; key < 70; key += 1) fleet.feed.append(`key${key}`)
  // 4, 8, 16 and 32 changes a read.
  const mend = fleet.feed.damage(fleet.feed.changes[59]!.id)
  let isMended = false
  let seen = 0
  fleet.behaviour = (_context, changes) => {
    // So that another reader begins there, once the damage has been met.
    if (changes[0]!.lsn === 1 && !isMended) throw new Error('not yet')
    if (changes.some(({ lsn }) => lsn === 60)) seen += 1
    changes.forEach((change) => ({ ...change }))
  }
  const host = await fleet.start('a')
  await fleet.until(() => fleet.eventsOf(host, 'feedError').length === 3)
  expect(seen).toBe(1)
  isMended = true
  mend()
  await fleet.until(() => fleet.isDrained())
  expect(seen).toBe(2)
})
