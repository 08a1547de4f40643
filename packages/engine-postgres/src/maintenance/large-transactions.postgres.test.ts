import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnderTest, put } from './store-under-test.fixture.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const COUNT = 2500

function puts(): ReturnType<typeof put>[] {
  return Array.from({ length: COUNT }, (_, n) => put(`d${n}`))
}

test('CF-11 entries of a transaction that is larger than a piece of work are trimmed after their time', async () => {
  await using store = await StoreUnderTest.open(server, {
    allVersions: { retentionSeconds: 10, previousImages: false },
  })
  await store.commit('a', ...puts())
  store.clock.step(5_000)
  await store.commit('a', put('later'))
  store.clock.step(6_000)
  expect(await store.maintain('trimVersions', 100)).toBe(COUNT)
  expect(await store.query('SELECT id FROM log')).toEqual([['later']])
})

test('ST-9 rows of a transaction that is larger than a piece of work are folded', async () => {
  await using store = await StoreUnderTest.open(server)
  await store.commit('a', ...puts())
  // Its key is in the lower half, which is folded first; the upper one then has the rest alone.
  await store.split('3B')
  expect(await store.maintain('fold', 100)).toBe(COUNT)
  expect(await store.database.check()).toEqual([])
})
