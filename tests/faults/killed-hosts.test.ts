import { expect, test } from 'vitest'
import { deliveries, missing, repeated, repeatedBeyondTwoBatches } from './check-history.ts'
import { FaultStage, untilShared } from './fault-stage.ts'
import { PacedWriter } from './paced-writer.ts'
import { until } from './until.ts'

const RANGES = 4

test('PH-4 PH-5 with leases in the folder of their feed, hosts that are killed repeat at most two batches a range', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES, leases: 'folder' })
  const [victim, survivor] = await Promise.all([
    stage.start('w1', { observerMs: 50 }),
    stage.start('w2', { observerMs: 50 }),
  ])
  await untilShared([victim, survivor], RANGES)
  const writer = new PacedWriter(stage.store, 1_000)
  await until(() => victim.entries('dispatch').length > 20, { what: 'it processes' })
  await victim.kill()
  await untilShared([survivor], RANGES)
  const written = await writer.stop()
  await stage.untilDelivered(written)
  const delivered = deliveries(stage.histories())
  expect(missing(written, delivered)).toEqual([])
  expect(repeatedBeyondTwoBatches(stage.histories())).toEqual([])
  // Else it would show nothing: a host that is killed at work has something in hand.
  expect(repeated(delivered).length).toBeGreaterThan(0)
})
