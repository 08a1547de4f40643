import { FULL_RANGE } from '@tidemark/contracts'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnderTest, put } from '../maintenance/store-under-test.fixture.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test('CF-11 PH-9 entries up to the horizon of the log are neither read nor counted, be it the last of them alone', async () => {
  const allVersions = { retentionSeconds: 10, previousImages: false }
  await using store = await StoreUnderTest.open(server, { allVersions })
  const { database, collection } = store
  for (const id of ['a', 'b']) await store.commit('p', put(id))
  await database.updateCollection(collection, { allVersions: null })
  await database.updateCollection(collection, { allVersions })
  const query = { collection, range: FULL_RANGE, maxItems: 10, maxChars: 1_000_000 }
  const read = async (afterLsn: number): Promise<readonly unknown[]> => {
    const { rows, horizon, caughtUp } = await database.readVersionPage({ ...query, afterLsn })
    const count = { ...query, afterLsn, mode: 'allVersions', pendingDeletes: true } as const
    const counted = await database.countFeed(count)
    return [rows.map(({ id }) => id), horizon, caughtUp, counted.rows, counted.isExact]
  }
  expect(await read(0)).toEqual([[], 2, true, 0, true])
  expect(await read(1)).toEqual([[], 2, true, 0, true])
  await store.commit('p', put('c'))
  for (const afterLsn of [0, 1, 2]) expect(await read(afterLsn)).toEqual([['c'], 2, true, 1, true])
})
