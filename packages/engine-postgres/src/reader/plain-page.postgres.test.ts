import { FULL_RANGE } from '@tidemark/contracts'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { put, StoreUnderTest } from '../maintenance/store-under-test.fixture.ts'

let server: SharedPostgres
beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Below the last key, above all that the test has: a page of them is not plain. */
const ALMOST_FULL = { minInclusive: '', maxExclusive: 'FE' }

test('CF-7 a plain page ends where the general one does, whatever limits it', async () => {
  await using store = await StoreUnderTest.open(server)
  const { database, collection } = store
  for (let n = 0; n < 8; n++) {
    // LSNs of one row and of several, and one large text.
    const ids = Array.from({ length: (n % 3) + 1 }, (_, index) => `d${n}-${index}`)
    const large = { ...put('large'), body: JSON.stringify({ id: 'large', text: 'x'.repeat(500) }) }
    await store.commit('p', ...(n === 5 ? [large] : []), ...ids.map((id) => put(id)))
  }
  let pages = 0
  for (const maxItems of [1, 2, 3, 5, 100]) {
    for (const maxChars of [1, 30, 100, 600, 100_000]) {
      let afterLsn = 0
      for (let caughtUp = false; !caughtUp; pages++) {
        const query = { collection, afterLsn, maxItems, maxChars }
        const plain = await database.readFeedPage({ ...query, range: FULL_RANGE })
        const general = await database.readFeedPage({ ...query, range: ALMOST_FULL })
        expect(plain).toEqual(general)
        expect(plain.rows.length).toBeGreaterThan(0)
        ;({ lsn: afterLsn, caughtUp } = plain)
      }
    }
  }
  expect(pages).toBeGreaterThan(100)
})
