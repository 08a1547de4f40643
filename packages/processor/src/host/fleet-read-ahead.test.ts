import { expect, test } from 'vitest'
import type { Fleet } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'
import { write } from './letter-box.fixture.ts'

const BATCH = 4
const never = new AbortController().signal
const newFleet = fleetsWith({
  ranges: 1,
  feedOptions: { startFromBeginning: true, maxItemCount: BATCH },
})

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
