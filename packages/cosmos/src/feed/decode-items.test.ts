import { partitionKeyDefinition } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { changesOfItems } from './decode-items.ts'

/* Items as the documentation of the service and the tests of its clients have them, where they differ from our gateway's. */

function changeOf(item: unknown, ...paths: string[]) {
  const partitionKey = partitionKeyDefinition(paths)
  const [change] = changesOfItems([item], 'allVersions', {
    rid: 'r',
    partitionKey,
    defaultTtl: undefined,
  })
  return change
}

const deleted = (partitionKey: object) => ({
  lsn: 9,
  crts: 1_700_000_000,
  operationType: 'delete',
  previousImageLSN: 8,
  id: 'a',
  partitionKey,
})

test('a delete without any image, as the service has them now, has the id and key of its metadata', () => {
  for (const images of [{}, { current: {} }, { current: {}, previous: {} }, { current: null }]) {
    const change = changeOf({ ...images, metadata: deleted({ pk: 'p' }) }, '/pk')
    expect(change).toEqual({
      kind: 'version',
      id: 'a',
      partitionKey: 'p',
      lsn: 9,
      operationType: 'delete',
      crts: 1_700_000_000_000,
      timeToLiveExpired: false,
    })
  }
})

test('the key of a delete without an image, by whatever name a nested path has there', () => {
  for (const key of [{ a: { b: 7 } }, { b: 7 }, { 'a/b': 7 }]) {
    expect(changeOf({ metadata: deleted(key) }, '/a/b')).toMatchObject({ partitionKey: 7 })
  }
  const hierarchical = deleted({ user: 'u', tenant: 't' })
  expect(changeOf({ metadata: hierarchical }, '/tenant', '/user')).toMatchObject({
    partitionKey: ['t', 'u'],
  })
})

test('a delete by time to live says so, with its last image where there is one', () => {
  const previous = { id: 'a', pk: 'p', n: 1, _etag: 'e', _ts: 1 }
  const metadata = { ...deleted({}), id: undefined, timeToLiveExpired: true }
  expect(changeOf({ current: {}, previous, metadata }, '/pk')).toMatchObject({
    id: 'a',
    partitionKey: 'p',
    timeToLiveExpired: true,
    previous,
  })
})

test('an item of no known kind is refused, not skipped', () => {
  const { id, ...nameless } = deleted({ pk: 'p' })
  void id
  const moved = { ...deleted({ pk: 'p' }), operationType: 'move' }
  for (const item of [{}, { metadata: nameless }, { metadata: moved }]) {
    expect(() => changeOf(item, '/pk')).toThrow(
      expect.objectContaining({ code: 'ERR_SERVER_UNSUPPORTED' }),
    )
  }
})
