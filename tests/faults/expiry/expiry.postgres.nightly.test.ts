import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, test } from 'vitest'
import { goneAtOneInstant } from './expiry-instant.ts'
import { ExpiryStage } from './expiry-stage.ts'
import { anotherSweepsOn, oneSweepsAtATime } from './one-sweeper.ts'

const BACKLOG = 5_000

let postgres: SharedPostgres | undefined
beforeAll(async () => {
  postgres = await sharedPostgres()
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

async function openStage(): Promise<ExpiryStage> {
  return ExpiryStage.open({ postgresUrl: await postgres?.createDatabase() })
}

test('TTL-4 TTL-11 a document is gone at one instant for two processes whose clocks are 8 s apart: the server has the clock', async () => {
  await using stage = await openStage()
  await goneAtOneInstant(stage, [-3_000, 5_000])
})

test('TTL-5 of two processes on PostgreSQL one sweeps at a time, and the other takes over when it is closed', async () => {
  await using stage = await openStage()
  await oneSweepsAtATime(stage)
})

test('TTL-5 TTL-13 when the sweeper on PostgreSQL is killed amid a backlog, another goes on within the lease time, and each has one pending delete', async () => {
  await using stage = await openStage()
  await anotherSweepsOn(stage, BACKLOG)
})
