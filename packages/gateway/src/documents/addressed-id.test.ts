import { expect, test } from 'vitest'
import { pageCharge } from '../protocol/request-charge.ts'
import { addressedId } from './addressed-id.ts'

test('what is looked through for a _rid is charged, also when it is not there', async () => {
  const pages = [
    { bodies: ['a'.repeat(500_000)], continuation: 'more' },
    { bodies: ['a'.repeat(70_000), 'b'.repeat(30_000)], continuation: undefined },
  ]
  const spent: unknown[] = []
  const request = {
    path: { segments: ['dbs', 'd', 'colls', 'c', 'docs', 'rid'], collectionRid: 'c' },
    signal: new AbortController().signal,
  }
  const scope = {
    collection: { readDocumentsText: () => Promise.resolve(pages.shift()) },
    open: { record: { rid: 'coll' } },
    partitionKey: 'x',
    range: { number: 3 },
  }
  const budgets = { spend: (...args: readonly unknown[]) => spent.push(args) }
  await expect(
    addressedId(request as never, scope as never, { budgets } as never),
  ).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  expect(spent).toEqual([
    ['coll/3', pageCharge(500_000)],
    ['coll/3', pageCharge(100_000)],
  ])
})
