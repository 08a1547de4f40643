import { test } from 'vitest'
import { ExpiryStage } from './expiry-stage.ts'
import { anotherSweepsOn, oneSweepsAtATime } from './one-sweeper.ts'

test('TTL-5 of two processes one sweeps at a time, and the other takes over when it is closed', async () => {
  await using stage = await ExpiryStage.open()
  await oneSweepsAtATime(stage)
})

test('TTL-5 TTL-13 when the sweeper is killed amid a backlog of 5,000, another goes on within the lease time, and each has one pending delete', async () => {
  await using stage = await ExpiryStage.open()
  await anotherSweepsOn(stage, 5_000)
})
