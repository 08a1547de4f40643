import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { CLASS_OF_KIND, generateSchedule, runSchedule } from '@tidemark/testing/simulation'
import { sumFaults, type FaultCounts, type FoundViolation } from './messages.ts'
import { runCampaign } from './run-campaign.ts'

const SEED = 20_261_121
const SCHEDULES = 100

test(
  `I1 to I9 PH-4 LE-10 LE-11 ${SCHEDULES} schedules with faults of every kind: O1 to O13 object to nothing`,
  { timeout: 300_000 },
  async () => {
    const violations: FoundViolation[] = []
    let faults: FaultCounts = {}
    let schedules = 0
    await runCampaign(
      { platformAbort: false },
      {
        from: SEED,
        until: SEED + SCHEDULES,
        processes: Math.min(2, availableParallelism()),
        onDone: (done) => {
          schedules += done.schedules
          faults = sumFaults(faults, done.faults)
          violations.push(...done.violations)
        },
      },
    )
    expect(violations).toEqual([])
    expect(schedules).toBe(SCHEDULES)
    // A test of faults in which some kind never happened would show nothing of it.
    for (const kind of Object.keys(CLASS_OF_KIND)) {
      expect(faults, kind).toHaveProperty(kind)
    }
  },
)

test('O12 one schedule is one history, also with the platform’s own AbortController and beside other work', async () => {
  const [{ traceHash: before }] = await Promise.all([
    runSchedule(generateSchedule(SEED)),
    runSchedule(generateSchedule(SEED + 1)),
  ])
  let found: string | undefined
  await runCampaign(
    { platformAbort: false, hashes: true },
    {
      from: SEED,
      until: SEED + 1,
      processes: 1,
      onDone: ({ hashes }) => {
        found = hashes?.[0]
      },
    },
  )
  expect(found).toBe(before)
})
