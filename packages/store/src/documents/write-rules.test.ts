import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { FULL_RANGE } from '@tidemark/contracts'

const ETAG = '"00000000-0000-0000-0000-000000000000"'
const range = FULL_RANGE

test('a condition or a fence that is misspelt is refused by name, and nothing is written', async () => {
  await using store = await openMemoryStore()
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/pk' })
  const document = { id: 'a', pk: 'x' }
  await orders.create(document)
  const before = await orders.read('a', 'x')
  const put = { kind: 'put', document: { ...document, n: 1 } }
  const commit =
    (operation: object, options: object = {}) =>
    () =>
      shop.commitAtomically(
        [{ collection: orders, operation: operation as never }],
        options as never,
      )
  const batch = (operation: object) => () => orders.batch('x', [operation as never])
  const refused: [() => Promise<unknown>, string][] = [
    [() => orders.upsert(document, { ifmatch: ETAG } as never), 'did you mean ifMatch?'],
    [() => orders.replace(document, { ifMatch: 5 } as never), 'ifMatch must be a text, got 5'],
    [() => orders.create(document, { ifNonMatch: '*' } as never), 'did you mean ifNoneMatch?'],
    [() => orders.delete('a', 'x', { etag: ETAG } as never), 'there is no option etag'],
    [() => orders.read('a', 'x', { ifNonMatch: '*' } as never), 'did you mean ifNoneMatch?'],
    [
      () => orders.patch('a', 'x', [], { conditon: () => false } as never),
      'did you mean condition?',
    ],
    [commit({ ...put, ifMach: ETAG }), 'did you mean ifMatch?'],
    [commit({ ...put, expiresAt: 5 }), 'did you mean expiresAtMs?'],
    [commit({ ...put, kind: 'upsert' }), "kind must be 'put', 'delete', 'check', got \"upsert\""],
    [commit({ kind: 'delete', id: 'a', partitionKey: 'x', ifmatch: ETAG }), 'ifMatch?'],
    [commit(put, { fense: { job: 'j', range, epoch: 1 } }), 'did you mean fence?'],
    [commit(put, { fence: { range, epoch: 1 } }), 'fence.job must be a text, got undefined'],
    [commit(put, { fence: { job: 'j', range, epoch: '1' } }), 'fence.epoch must be a number'],
    [commit(put, { fence: 7 }), 'fence must be { job, range, epoch }, got 7'],
  ]
  for (const [call, message] of refused) {
    await expect(call()).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining(message),
    })
  }
  for (const wrong of [
    { kind: 'upsert', document: { ...document, n: 1 }, ifMach: ETAG },
    { kind: 'put', document: { ...document, n: 1 } },
    { kind: 'delete', id: 'a', ifNonMatch: '*' },
  ]) {
    await expect(batch(wrong)()).rejects.toMatchObject({
      code: 'ERR_BATCH_FAILED',
      cause: { code: 'ERR_INVALID_OPTION' },
    })
  }
  expect(await orders.read('a', 'x')).toMatchObject({ document: before.document })
})
