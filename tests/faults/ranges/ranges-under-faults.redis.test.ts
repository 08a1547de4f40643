import { startRedisProcess } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { runRangeFaults } from './run-range-faults.ts'

test('LE-10 ST-9 CF-3 PH-4 with leases in Redis, nothing is lost or out of order while ranges split and merge under hosts that are killed', async () => {
  const redis = await startRedisProcess()
  try {
    const { happened, faults } = await runRangeFaults({ durationMs: 2_000, redisPort: redis.port })
    console.log(happened)
    expect(faults).toEqual([])
    for (const [what, count] of Object.entries(happened)) expect(count, what).toBeGreaterThan(0)
  } finally {
    await redis.stop()
  }
}, 240_000)
