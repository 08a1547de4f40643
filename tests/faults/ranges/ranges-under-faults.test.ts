import { expect, test } from 'vitest'
import { runRangeFaults } from './run-range-faults.ts'

test('LE-10 ST-9 CF-3 PH-4 nothing is lost or out of order per key while ranges split and merge under hosts that are killed', async () => {
  const { happened, faults } = await runRangeFaults({ durationMs: 3_000 })
  console.log(happened)
  expect(faults).toEqual([])
  for (const [what, count] of Object.entries(happened)) expect(count, what).toBeGreaterThan(0)
}, 240_000)
