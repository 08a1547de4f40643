import { createRequire } from 'node:module'
import { CosmosClient } from '@azure/cosmos'
import { FULL_RANGE } from '@tidemark/contracts'
import { cosmosFeed } from '@tidemark/cosmos'
import { expect, test } from 'vitest'
import { accountUnderTest } from './account-under-test.fixture.ts'

const require = createRequire(import.meta.url)

test('a container of a client that was loaded by require is read, and one of no known client refused', async () => {
  const { CosmosClient: required } = require('@azure/cosmos') as {
    CosmosClient: typeof CosmosClient
  }
  expect(required).not.toBe(CosmosClient)
  await using under = await accountUnderTest({ client: required })
  const items = await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  await items.create({ id: 'a' })
  const feed = cosmosFeed(under.container('items'))
  const start = await feed.resolveStart({ range: FULL_RANGE, start: 'beginning' })
  const page = await feed.readPage({ ...start, range: FULL_RANGE })
  expect(page.changes.map(({ id }) => id)).toEqual(['a'])
  const real = under.container('items')
  // Of no class, as one of another copy of the client.
  const copy = Object.create({}, Object.getOwnPropertyDescriptors(real)) as typeof real
  expect(() => cosmosFeed(copy)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
})
