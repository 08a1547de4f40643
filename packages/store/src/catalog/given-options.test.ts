import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'

test('options of collections and of their changes that do not exist are refused by name', async () => {
  await using store = await openMemoryStore()
  const shop = store.database('shop')
  const good = { id: 'orders', partitionKey: '/id' }
  const orders = await shop.createCollectionIfNotExists(good)
  const create = (wrong: object) => () => shop.createCollectionIfNotExists({ ...good, ...wrong })
  const set = (wrong: object) => () => orders.updateSettings(wrong)
  const read = (wrong: object) => async () => {
    for await (const _ of orders.changes({ follow: false, ...wrong })) return
  }
  const refused: [() => Promise<unknown>, string][] = [
    [create({ partitionCont: 3 }), 'did you mean partitionCount?'],
    [create({ ttl: 3 }), 'did you mean defaultTtl?'],
    [create({ allVersions: { retentionSecond: 3 } }), 'did you mean allVersions.retentionSeconds?'],
    [set({ ttl: 3 }), 'did you mean defaultTtl?'],
    [set({ pendingDeletes: { waitsFor: ['a'] } }), 'did you mean pendingDeletes.waitFor?'],
    [read({ startFromBeginning: true }), 'there is no option startFromBeginning'],
    [read({ follow: 'no' }), 'follow must be true or false'],
  ]
  for (const [call, message] of refused) {
    await expect(call()).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining(message),
    })
  }
  expect((await orders.readRecord()).definition).toMatchObject({ defaultTtl: null })
})
