import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FULL_RANGE, lsn, type DeadLetter } from '@tidemark/contracts'
import { openDeadLetters, openStore } from './index.ts'

const never = new AbortController().signal

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

function letterWith(n: number, text: string): DeadLetter {
  const id = `o${n}`
  const stored = { id, text, _rid: 'r', _self: 's', _etag: '"1"', _ts: 1, _lsn: n }
  return {
    id: `letter-${n}`,
    group: 'mirror',
    feed: 'f',
    range: FULL_RANGE,
    lsn: lsn(n),
    change: {
      kind: 'document',
      id,
      partitionKey: text,
      lsn: lsn(n),
      committedAtMs: 0,
      document: stored,
    },
    error: { name: 'Error', message: 'poison' },
    attempts: 3,
    hostName: 'a',
    failedAtMs: 1_000,
  }
}

test('PH-7 a store on PostgreSQL keeps dead letters whole, also what its texts cannot hold, and big ones', async () => {
  await using store = await openStore(await server.createDatabase())
  const shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  const sink = await openDeadLetters(shop, 'orders')
  const texts = ['plain', 'a\0b', '\uD800', 'x'.repeat(3_000_000), '\0"€'.repeat(300_000)]
  const letters = texts.map((text, index) => letterWith(index + 1, text))
  for (const letter of letters) await sink.put(letter)
  for (const letter of letters) expect(await sink.read(letter.id)).toEqual(letter)
  const { done } = await sink.redrive({ group: 'mirror', letters: 'all' })
  expect(done).toHaveLength(texts.length)
  const taken: DeadLetter[] = []
  for (let round = 0; round < texts.length && taken.length < texts.length; round += 1) {
    for (const letter of await sink.takeRedriven({
      group: 'mirror',
      range: FULL_RANGE,
      signal: never,
    })) {
      taken.push(letter)
      await sink.settle(letter)
    }
  }
  expect(taken).toEqual(letters)
  expect(await shop.collection('orders-deadletters').count()).toBe(1)
})
