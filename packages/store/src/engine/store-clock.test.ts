import { SimulatedClock } from '@tidemark/testing'
import { describe, expect, test } from 'vitest'
import { StoreClock } from './store-clock.ts'

const MONTH_MS = 30 * 86_400_000

describe('TTL-5 the clock of a store', () => {
  test('is the wall clock, as long as that goes ahead', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    for (const step of [0, 1, 999, 86_400_000]) {
      await wall.advance(step)
      expect(clock.nowMs()).toBe(wall.wallMs())
    }
    wall.jumpWall(MONTH_MS)
    expect(clock.nowMs()).toBe(wall.wallMs())
  })

  test('goes on, and never back, when the wall clock was set ahead and back', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    clock.nowMs()
    wall.jumpWall(MONTH_MS)
    const aheadMs = clock.nowMs()
    wall.jumpWall(-MONTH_MS)
    for (const passedMs of [0, 10, 2_000, 86_400_000]) {
      const before = clock.nowMs()
      await wall.advance(passedMs)
      expect(clock.nowMs() - before).toBe(passedMs)
    }
    expect(clock.nowMs()).toBe(aheadMs + 86_402_010)
    // Once the wall clock has caught up, it is the clock again.
    wall.jumpWall(MONTH_MS + 5)
    expect(clock.nowMs()).toBe(wall.wallMs())
    await wall.advance(1_000)
    expect(clock.nowMs()).toBe(wall.wallMs())
  })

  test('waits for a wall clock that is a second behind, or less', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    const startMs = clock.nowMs()
    wall.jumpWall(-1_000)
    await wall.advance(900)
    expect(clock.nowMs()).toBe(startMs)
    await wall.advance(200)
    expect(clock.nowMs()).toBe(startMs + 100)
    expect(clock.nowMs()).toBe(wall.wallMs())
  })

  test('goes on from the time of a commit that is ahead of this machine', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    const committedMs = wall.wallMs() + MONTH_MS
    expect(clock.nowMs(committedMs)).toBe(committedMs)
    await wall.advance(3_000)
    expect(clock.nowMs()).toBe(committedMs + 3_000)
    expect(clock.nowMs(committedMs + 5_000)).toBe(committedMs + 5_000)
    await wall.advance(1_000)
    expect(clock.nowMs()).toBe(committedMs + 6_000)
  })

  test('takes no word of a jump that no commit saw, after a small correction', async () => {
    const wall = new SimulatedClock()
    let aheadMs: number | undefined
    const noted = {
      nowMs: () => aheadMs && aheadMs + wall.monotonicMs(),
      note: (nowMs: number) => {
        aheadMs = nowMs - wall.monotonicMs()
      },
    }
    const reader = new StoreClock(wall, noted)
    reader.nowMs()
    wall.jumpWall(MONTH_MS)
    reader.nowMs()
    wall.jumpWall(-MONTH_MS)
    reader.nowMs()
    expect(aheadMs).toBeDefined()
    for (const isOpenBefore of [true, false]) {
      const clock = new StoreClock(wall, noted)
      const committedMs = wall.wallMs()
      if (isOpenBefore) clock.nowMs(committedMs)
      wall.jumpWall(-1_500)
      await wall.advance(100)
      expect(clock.nowMs(committedMs) - committedMs).toBeLessThanOrEqual(100)
    }
  })
})
