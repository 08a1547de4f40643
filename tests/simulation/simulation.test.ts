import { expect, test } from 'vitest'
import { generateSchedule, runSchedule } from '@tidemark/testing/simulation'
import { runCampaign } from './run-campaign.ts'

// A slice of `npm run simulate`; other seeds every day, so that in time CI sees many.
const DAY = Math.floor(Date.now() / 86_400_000)
const SCHEDULES = 600
const FIRST = DAY * SCHEDULES

test(
  `I1 to I8, O1 to O12 hold in ${SCHEDULES} schedules from seed ${FIRST} on`,
  { timeout: 240_000 },
  async () => {
    let schedules = 0
    let faults = 0
    const violations: unknown[] = []
    await runCampaign(
      { platformAbort: false },
      {
        from: FIRST,
        until: FIRST + SCHEDULES,
        processes: 2,
        onDone: (done) => {
          schedules += done.schedules
          for (const times of Object.values(done.faults)) faults += times
          violations.push(...done.violations)
        },
      },
    )
    expect(violations).toEqual([])
    expect(schedules).toBe(SCHEDULES)
    expect(faults).toBeGreaterThan(2 * SCHEDULES)
  },
)

test('O12 the same seed is the same history, and another seed another one', async () => {
  const hashes = async (): Promise<string[]> => {
    const found: string[] = []
    for (let seed = 1; seed <= 20; seed += 1) {
      found.push((await runSchedule(generateSchedule(seed))).traceHash)
    }
    return found
  }
  const first = await hashes()
  expect(await hashes()).toEqual(first)
  expect(new Set(first).size).toBe(20)
})
