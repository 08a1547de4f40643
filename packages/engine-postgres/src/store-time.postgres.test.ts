import { systemClock, type Clock } from '@tidemark/contracts'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresEngine } from './postgres-engine.ts'

const HOUR_MS = 3_600_000

let postgres: SharedPostgres | undefined
beforeAll(async () => {
  postgres = await sharedPostgres()
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

function shifted(byMs: number): Clock {
  return { ...systemClock, wallMs: () => systemClock.wallMs() + byMs }
}

test.each([HOUR_MS, -HOUR_MS])(
  'TTL-11 a process whose clock is %d ms off has the time of the server from the beginning',
  async (byMs) => {
    const url = await postgres?.createDatabase()
    const engine = await openPostgresEngine({ url, clock: shifted(byMs) })
    const { ts } = await engine.createDatabase('first')
    // Server and test run on one machine.
    expect(Math.abs(ts * 1000 - systemClock.wallMs())).toBeLessThan(10_000)
    const database = await engine.openDatabase('first')
    expect(Math.abs(database.nowMs() - systemClock.wallMs())).toBeLessThan(10_000)
    await engine.close()
  },
)

test('TTL-11 with the clocks of processes the highest counts, and it is not the server that decides', async () => {
  const url = await postgres?.createDatabase()
  const engine = await openPostgresEngine({ url, clock: shifted(HOUR_MS), storeTime: 'process' })
  await engine.createDatabase('first')
  const database = await engine.openDatabase('first')
  expect(database.nowMs() - systemClock.wallMs()).toBeGreaterThan(HOUR_MS - 10_000)
  await engine.close()
})
