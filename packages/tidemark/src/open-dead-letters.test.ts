import { expect, test } from 'vitest'
import { FULL_RANGE, lsn, type DeadLetter, type Stored } from '@tidemark/contracts'
import { openDeadLetters, openStore } from './index.ts'

interface Order {
  readonly id: string
  readonly text: string
}

function letterOf(document: Stored<Order>): DeadLetter<Order> {
  const { id } = document
  return {
    id: `letter-${id}`,
    group: 'mirror',
    feed: 'f',
    range: FULL_RANGE,
    lsn: lsn(document._lsn),
    change: {
      kind: 'document',
      id,
      partitionKey: id,
      lsn: lsn(document._lsn),
      committedAtMs: 0,
      document,
    },
    error: { name: 'Error', message: 'poison\0', stack: 'x'.repeat(8_000) },
    attempts: 3,
    hostName: 'a',
    failedAtMs: 1_000,
  }
}

async function shopWithOrders(maxDocumentBytes?: number) {
  const store = await openStore({ folder: ':memory:', maxDocumentBytes, maintenance: 'manual' })
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    defaultTtl: 60,
  })
  return { store, shop, orders }
}

test('PH-7 the collection of dead letters is made once, and nothing in it expires', async () => {
  const { store, shop } = await shopWithOrders()
  await using _ = store
  await Promise.all([1, 2, 3].map(() => openDeadLetters(shop, 'orders')))
  const record = await shop.collection('orders-deadletters').readRecord()
  expect(record.definition).toMatchObject({
    partitionKey: { paths: ['/partitionKey'] },
    defaultTtl: null,
  })
  await openDeadLetters(shop, 'orders', { id: 'poison' })
  const ids = (await shop.listCollections()).map(({ id }) => id)
  expect(ids.toSorted()).toEqual(['orders', 'orders-deadletters', 'poison'])
})

test('PH-7 a document as large as the store takes fits into it as a letter, and comes back the same', async () => {
  const { store, shop, orders } = await shopWithOrders(50_000)
  await using _ = store
  const letters = await openDeadLetters(shop, 'orders')
  for (const [id, text] of Object.entries({
    letters: 'x'.repeat(49_950),
    quotes: '"'.repeat(24_950),
    euro: '€'.repeat(16_600),
  })) {
    const { document } = await orders.upsert({ id, text })
    const letter = letterOf(document)
    await letters.put(letter)
    const read = await letters.read(letter.id)
    expect(read?.change).toEqual(letter.change)
    await letters.redrive({ group: 'mirror', letters: [letter.id] })
    await letters.drop({ group: 'mirror', letters: [letter.id] })
  }
  expect(await shop.collection('orders-deadletters').count()).toBe(1)
})

test('what is wrong has its code: no such collection, another collection of that name', async () => {
  const { store, shop } = await shopWithOrders()
  await using _ = store
  await expect(openDeadLetters(shop, 'nothing')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  await expect(openDeadLetters(shop, 'orders', { id: 'orders' })).rejects.toMatchObject({
    code: 'ERR_COLLECTION_MISMATCH',
  })
  expect((await shop.listCollections()).map(({ id }) => id)).toEqual(['orders'])
})
