import { expect, test, vi } from 'vitest'
import { feedRangeId, type Checkpoint, type FeedRange } from '@tidemark/contracts'
import { FakeFeed, SimulatedClock } from '@tidemark/testing'
import { LeaseShaper, type JoinableLease } from './lease-shaper.ts'

const never = new AbortController().signal

function leaseOf(range: FeedRange, idlePosition: () => Checkpoint | undefined): JoinableLease {
  const held = { leaseId: feedRangeId(range), epoch: 1 }
  return { held, range, pump: { idlePosition, refresh: () => {} } }
}

/** Lets a shaper of these leases look until `untilMs`. */
async function shape(
  { clock, feed }: { readonly clock: SimulatedClock; readonly feed: FakeFeed },
  running: readonly JoinableLease[],
  { leasesPerRange, untilMs }: { readonly leasesPerRange: number; readonly untilMs: number },
) {
  const cut = vi.fn<() => void>()
  const join = vi.fn<() => void>()
  const leases = running.map(({ range }) => range)
  const group = () => ({ leasesPerRange, leases })
  const asked = { feed, clock, group, cut, join, running: () => running }
  const shaper = new LeaseShaper({ ...asked, mode: 'latestVersion' })
  shaper.start()
  await clock.advance(untilMs)
  await shaper.stop()
  return { cut, join }
}

test('LE-15 between two pkranges the host gets its turn', async () => {
  const clock = new SimulatedClock()
  const feed = new FakeFeed({ clock, ranges: 8 })
  const happened: string[] = []
  const divide = feed.divideRange.bind(feed)
  vi.spyOn(feed, 'divideRange').mockImplementation((request) => {
    happened.push('divided')
    // What is due by now, as a heartbeat may be.
    void clock.sleep(0, never).then(() => happened.push('turn'))
    return divide(request)
  })
  const leases = (await feed.readFeedRanges()).map((range) => leaseOf(range, () => undefined))
  const { cut } = await shape({ clock, feed }, leases, { leasesPerRange: 4, untilMs: 1_000 })
  expect(cut).toHaveBeenCalledTimes(8)
  expect(happened.slice(0, 16)).toEqual(leases.flatMap(() => ['divided', 'turn']))
})

test.each([undefined, 0, 1])(
  'of two leases at one place, a change for that of number %s while the feed is asked stops the join',
  async (changed) => {
    const clock = new SimulatedClock()
    const feed = new FakeFeed({ clock, ranges: 1 })
    const [whole] = await feed.readFeedRanges()
    const parts = await feed.divideRange({ range: whole!, count: 2 })
    const at = await feed.resolveStart({
      range: whole!,
      start: 'beginning',
      mode: 'latestVersion',
    })
    const idle: (Checkpoint | undefined)[] = [at, at]
    const asked = vi.spyOn(feed, 'joinPositions').mockImplementation(async () => {
      if (changed !== undefined) idle[changed] = undefined
      return at
    })
    const leases = parts.map((range, index) => leaseOf(range, () => idle[index]))
    const { join } = await shape({ clock, feed }, leases, { leasesPerRange: 1, untilMs: 9_000 })
    expect(asked).toHaveBeenCalledTimes(1)
    expect(join).toHaveBeenCalledTimes(changed === undefined ? 1 : 0)
  },
)
