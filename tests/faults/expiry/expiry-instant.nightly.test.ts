import { test } from 'vitest'
import { goneAtOneInstant, staysGone } from './expiry-instant.ts'
import { ExpiryStage } from './expiry-stage.ts'

test('TTL-4 TTL-11 a document is gone at one instant for two processes, swept or not', async () => {
  await using stage = await ExpiryStage.open()
  await goneAtOneInstant(stage)
})

test('TTL-11 TTL-18 what the sweeper judged expired stays so in a process whose clock is 5 s behind', async () => {
  await using stage = await ExpiryStage.open()
  await staysGone(stage)
})
