import { describe, expect, test } from 'vitest'
import { feedRangeId, lsn, parseFeedRangeId, type FeedRange } from '@tidemark/contracts'
import { FakeGroupPositions, SimulatedClock } from '@tidemark/testing'
import { PositionReporter } from './position-reporter.ts'

const [FIRST, SECOND] = ['-80', '80-FF'].map((id) => parseFeedRangeId(id)!) as [
  FeedRange,
  FeedRange,
]

interface Reporting {
  readonly clock: SimulatedClock
  readonly positions: FakeGroupPositions
  readonly reporter: PositionReporter
  /** What the feed knows, by range. */
  readonly told: () => Promise<Record<string, number>>
}

function reporting(flush?: (signal: AbortSignal) => Promise<void>): Reporting {
  const clock = new SimulatedClock()
  const positions = new FakeGroupPositions()
  const onFailure = (): void => {}
  const reporter = new PositionReporter({ positions, group: 'g', clock, flush, onFailure })
  const told = async (): Promise<Record<string, number>> => {
    const all = await positions.read('g')
    return Object.fromEntries(all.map((one) => [feedRangeId(one.range), one.lsn]))
  }
  return { clock, positions, reporter, told }
}

describe('positions told to the feed', () => {
  test('TTL-14 that of a lease that was given back is told at once, also right after another report', async () => {
    const { clock, reporter, told } = reporting()
    reporter.stored(FIRST, lsn(5))
    await clock.advance(0)
    expect(await told()).toEqual({ '-80': 5 })
    await clock.advance(10)
    reporter.stored(FIRST, lsn(7))
    reporter.released('-80')
    await clock.advance(0)
    expect(await told()).toEqual({ '-80': 7 })
    await reporter.stop()
  })

  test('of others in the meantime only once a second', async () => {
    const { clock, positions, reporter, told } = reporting()
    for (let n = 1; n <= 50; n += 1) {
      reporter.stored(FIRST, lsn(n))
      await clock.advance(100)
    }
    expect(positions.reports.length).toBeLessThanOrEqual(6)
    await clock.advance(1_000)
    expect(await told()).toEqual({ '-80': 50 })
    await reporter.stop()
  })
})

describe('positions that are not on disk yet', () => {
  test('TTL-14 are told after a flush that began when they were stored', async () => {
    const flushes: PromiseWithResolvers<void>[] = []
    const { clock, reporter, told } = reporting(() => {
      flushes.push(Promise.withResolvers<void>())
      return flushes.at(-1)!.promise
    })
    reporter.stored(FIRST, lsn(5))
    await clock.advance(100)
    reporter.stored(FIRST, lsn(7))
    await clock.advance(100)
    expect([flushes.length, await told()]).toEqual([1, {}])
    flushes[0]!.resolve()
    await clock.advance(100)
    expect(await told()).toEqual({ '-80': 5 })
    await clock.advance(2_000)
    expect([flushes.length, await told()]).toEqual([2, { '-80': 5 }])
    flushes[1]!.resolve()
    await clock.advance(100)
    expect(await told()).toEqual({ '-80': 7 })
    await reporter.stop()
  })

  test.each(['fails', 'hangs'])(
    'TTL-14 a flush that %s delays the report, and no more',
    async (how) => {
      let troubles = 2
      const { clock, reporter, told } = reporting(async () => {
        troubles -= 1
        if (troubles < 0) return
        if (how === 'fails') throw new Error('no disk')
        await new Promise<never>(() => {})
      })
      reporter.stored(FIRST, lsn(5))
      await clock.advance(3_000)
      expect(await told()).toEqual({})
      await clock.advance(9_000)
      expect(await told()).toEqual({ '-80': 5 })
      await reporter.stop()
    },
  )

  test('are told without it once the lease store has lost its data', async () => {
    const { clock, reporter, told } = reporting(() => new Promise<never>(() => {}))
    reporter.stored(FIRST, lsn(5))
    await clock.advance(10)
    reporter.keep([{ range: FIRST, lsn: lsn(6) }])
    await clock.advance(10)
    expect(await told()).toEqual({ '-80': 6 })
    await reporter.stop()
  })
})

describe('when the lease store has lost its data', () => {
  test('where leases stood is told at once, and not forgotten when they are lost then', async () => {
    const { clock, reporter, told } = reporting()
    reporter.stored(FIRST, lsn(5))
    reporter.stored(SECOND, lsn(5))
    await clock.advance(0)
    reporter.stored(FIRST, lsn(9))
    reporter.forget('-80')
    reporter.keep([
      { range: FIRST, lsn: lsn(9) },
      { range: SECOND, lsn: lsn(5) },
    ])
    for (const id of ['-80', '80-FF']) reporter.forget(id)
    await clock.advance(0)
    expect(await told()).toEqual({ '-80': 9, '80-FF': 5 })
    await reporter.stop()
    expect(reporter.unreported).toEqual([])
  })

  test('of leases that were given back nothing is told any more: their owners know more', async () => {
    const { clock, positions, reporter, told } = reporting()
    let isDown = false
    positions.beforeReport = () => {
      if (isDown) throw new Error('positions down')
    }
    reporter.stored(FIRST, lsn(5))
    await clock.advance(0)
    isDown = true
    reporter.stored(FIRST, lsn(7))
    reporter.released('-80')
    await clock.advance(5_000)
    // Its new owner has come further.
    isDown = false
    await positions.report([{ group: 'g', range: FIRST, lsn: lsn(30) }])
    reporter.keep([{ range: SECOND, lsn: lsn(2) }])
    await clock.advance(60_000)
    expect(await told()).toEqual({ '-80': 30, '80-FF': 2 })
    await reporter.stop()
  })

  test('what cannot be told is kept for whoever makes the leases anew', async () => {
    const { clock, positions, reporter } = reporting()
    reporter.stored(SECOND, lsn(4))
    await clock.advance(0)
    positions.beforeReport = () => {
      throw new Error('positions down')
    }
    reporter.stored(SECOND, lsn(6))
    reporter.released('80-FF')
    reporter.keep([{ range: FIRST, lsn: lsn(9) }])
    await clock.advance(2_000)
    await reporter.stop()
    expect(reporter.unreported).toEqual([{ group: 'g', range: FIRST, lsn: 9 }])
  })

  test('so is what was on its way when the feed stopped to answer', async () => {
    const { clock, positions, reporter } = reporting()
    positions.beforeReport = () => new Promise(() => {})
    reporter.keep([{ range: FIRST, lsn: lsn(9) }])
    await clock.advance(0)
    const stopping = reporter.stop()
    await clock.advance(5_000)
    await stopping
    expect(reporter.unreported).toEqual([{ group: 'g', range: FIRST, lsn: 9 }])
  })
})
