import { expect, test } from 'vitest'
import type { Fleet } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const never = new AbortController().signal
const LEASES = 16
const newFleet = fleetsWith({ ranges: 1 })

/** Changes a second of one pkrange, by observers that wait 5 ms a change, one call at a time on each host. */
async function changesPerSecond(hosts: number): Promise<number> {
  const fleet: Fleet = newFleet({
    feedOptions: { startFromBeginning: true, maxItemCount: 10, leasesPerRange: LEASES },
    hostOptions: { maxConcurrentObservers: 1 },
    behaviour: (_context, changes) => fleet.clock.sleep(5 * changes.length, never),
  })
  for (let host = 0; host < hosts; host += 1) await fleet.start(`host${host}`)
  await fleet.until(() => fleet.isBalanced(LEASES))
  for (let n = 0; n < 12_000; n += 1) fleet.feed.append(`key${n % 4_000}`)
  await fleet.advance(1_000)
  const before = fleet.deliveries.length
  await fleet.advance(5_000)
  return fleet.deliveries.slice(before).reduce((sum, { changes }) => sum + changes.length, 0) / 5
}

test('LE-15 with more leases than pkranges 8 hosts work on one pkrange 8 times as fast as one, or nearly so', async () => {
  const one = await changesPerSecond(1)
  expect(one).toBeGreaterThan(150)
  for (const hosts of [2, 8]) {
    expect((await changesPerSecond(hosts)) / one).toBeGreaterThanOrEqual(0.8 * hosts)
  }
})
