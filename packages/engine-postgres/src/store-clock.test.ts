import { SimulatedClock } from '@tidemark/testing'
import { describe, expect, test } from 'vitest'
import { StoreClock } from './store-clock.ts'

const MONTH_MS = 30 * 86_400_000

/** The clock of a server, and what each statement makes of it: `storeTime` of `read-context.ts`. */
class Server {
  readonly time = new SimulatedClock()
  storedMs = 0

  /** One statement of a process, which stores its time or not. */
  asked(clock: StoreClock, { stores = true } = {}): number {
    const answer = Math.max(this.time.wallMs(), this.storedMs, clock.atLeastMs())
    if (stores) this.storedMs = answer
    clock.heard(answer)
    return answer
  }
}

describe('TTL-5 the clock of a store in PostgreSQL', () => {
  test('is the server’s, whatever time passes between two statements', async () => {
    const server = new Server()
    const clock = new StoreClock(server.time, 'server')
    for (const passedMs of [0, 1, 49, 50, 1_000, MONTH_MS]) {
      await server.time.advance(passedMs)
      expect(server.asked(clock)).toBe(server.time.wallMs())
      expect(clock.atLeastMs()).toBe(server.time.wallMs())
    }
  })

  test.each([3, 49, 100, 5_000])(
    'goes on when that of the server was set ahead and back, in each of several processes that ask every %d ms',
    async (everyMs) => {
      const server = new Server()
      const clocks = [1, 2, 3].map(() => new StoreClock(server.time, 'server'))
      for (const clock of clocks) server.asked(clock)
      server.time.jumpWall(MONTH_MS)
      const aheadMs = server.asked(clocks[0]!)
      server.time.jumpWall(-MONTH_MS)
      let last = aheadMs
      for (let passedMs = 0; passedMs < 60_000; passedMs += everyMs) {
        await server.time.advance(everyMs)
        for (const [index, clock] of clocks.entries()) {
          const nowMs = server.asked(clock, { stores: index === 1 })
          expect(nowMs).toBeGreaterThanOrEqual(last)
          if (index === 1) last = nowMs
        }
      }
      expect(last - aheadMs).toBeGreaterThan(54_000)
      expect(last - aheadMs).toBeLessThanOrEqual(60_000)
      server.time.jumpWall(MONTH_MS + 5_000)
      expect(server.asked(clocks[2]!)).toBe(server.time.wallMs())
      await server.time.advance(100)
      expect(server.asked(clocks[2]!)).toBe(server.time.wallMs())
    },
  )

  test('goes on where each process has its own', async () => {
    const time = new SimulatedClock()
    const clock = new StoreClock(time, 'own')
    clock.nowMs()
    time.jumpWall(MONTH_MS)
    const aheadMs = clock.atLeastMs()
    time.jumpWall(-MONTH_MS)
    await time.advance(2_000)
    expect(clock.atLeastMs()).toBe(aheadMs + 2_000)
  })
})
