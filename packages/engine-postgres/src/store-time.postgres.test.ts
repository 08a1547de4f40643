import { FULL_RANGE, partitionKeyDefinition, systemClock } from '@tidemark/contracts'
import { ShiftedClock } from '@tidemark/testing'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { put } from './maintenance/store-under-test.fixture.ts'
import { openPostgresEngine } from './postgres-engine.ts'

const HOUR_MS = 3_600_000

let postgres: SharedPostgres | undefined
beforeAll(async () => {
  postgres = await sharedPostgres()
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

test.each([HOUR_MS, -HOUR_MS])(
  'TTL-11 a process whose clock is %d ms off has the time of the server from the beginning',
  async (byMs) => {
    const url = await postgres?.createDatabase()
    const engine = await openPostgresEngine({ url, clock: new ShiftedClock(byMs) })
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
  const engine = await openPostgresEngine({
    url,
    clock: new ShiftedClock(HOUR_MS),
    storeTime: 'process',
  })
  await engine.createDatabase('first')
  const database = await engine.openDatabase('first')
  expect(database.nowMs() - systemClock.wallMs()).toBeGreaterThan(HOUR_MS - 10_000)
  await engine.close()
})

test('TTL-11 a commit is not before the last one of its range, though the clock of the server went back', async () => {
  const url = await postgres!.createDatabase()
  const first = await openPostgresEngine({ url })
  await first.createDatabase('db')
  const database = await first.openDatabase('db')
  const { number: collection } = await database.createCollection(
    'coll',
    {
      partitionKey: partitionKeyDefinition('/pk'),
      defaultTtl: null,
      indexingMode: 'consistent',
      pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
      allVersions: null,
      splitAboveBytes: null,
    },
    [FULL_RANGE],
  )
  const batches = (id: string) => [
    { collection, epk: '10', partitionKey: '["p"]', operations: [put(id)] },
  ]
  const before = await database.commit({ batches: batches('a') })
  await first.close()
  const client = new Client(url)
  await client.connect()
  // As after a fail-over to a machine whose clock is an hour behind.
  await client.query('UPDATE tidemark.segment SET clock = clock + $1', [HOUR_MS])
  await client.end()
  const second = await openPostgresEngine({ url })
  const other = await second.openDatabase('db')
  const after = await other.commit({ batches: batches('b') })
  await second.close()
  if (before.kind !== 'committed' || after.kind !== 'committed') throw new Error('not committed')
  expect(after.timeMs).toBeGreaterThanOrEqual(before.timeMs + HOUR_MS)
})
