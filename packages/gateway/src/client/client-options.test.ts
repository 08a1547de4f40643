import { expect, test } from 'vitest'
import { CosmosConnection, type CosmosConnectionOptions } from './cosmos-connection.ts'
import { CosmosDocumentCollection } from './cosmos-document-collection.ts'
import { readCosmosLeasePrefix } from './cosmos-lease-prefix.ts'
import type { ChangeFeedOptions } from './feed-options.ts'
import { openChangeFeed } from './open-change-feed.ts'
import type { ContainerName } from './remote-container.ts'

const KEY = 'c2VjcmV0IG9mIHRoZSBob3VzZQ=='
const NAME = { database: 'shop', container: 'orders' }

/** That never asks a server. */
function connect(options: object = {}): CosmosConnection {
  const fetch = (): never => {
    throw new Error('was asked')
  }
  const given = { endpoint: 'http://server', key: KEY, fetch, maxAttempts: 1, ...options }
  return new CosmosConnection(given as CosmosConnectionOptions)
}

const refused = (message: string): object =>
  expect.objectContaining({ code: 'ERR_INVALID_OPTION', message }) as object

test.each<[object, string]>([
  [{ requestTimeoutMS: 5 }, 'there is no option requestTimeoutMS; did you mean requestTimeoutMs?'],
  [{ maxAttempts: '3' }, 'maxAttempts must be a number, got "3"'],
  [{ endpoint: undefined }, 'endpoint must be a text, got undefined'],
  [{ fetch: 'node' }, 'fetch must be a function, got "node"'],
])('a connection refuses %o', (options, message) => {
  expect(() => connect(options)).toThrow(refused(message))
})

test.each<[object, string]>([
  [{ maxItemCuont: 5 }, 'there is no option maxItemCuont; did you mean maxItemCount?'],
  [{ maxItemCount: '5' }, 'maxItemCount must be a number, got "5"'],
  [{ container: undefined }, 'container must be a text, got undefined'],
  [{ signal: 5 }, 'signal must be an AbortSignal, got 5'],
])('a change feed refuses %o', async (options, message) => {
  const opening = openChangeFeed(connect(), { ...NAME, ...options } as ChangeFeedOptions)
  await expect(opening).rejects.toEqual(refused(message))
})

test('a collection and the prefix of leases refuse a misspelt name', async () => {
  const name = { database: 'shop', containre: 'orders' } as unknown as ContainerName
  const message = 'there is no option containre; did you mean container?'
  expect(() => new CosmosDocumentCollection(connect(), name)).toThrow(refused(message))
  const reading = readCosmosLeasePrefix(connect(), { ...name, processorName: 'mirror' })
  await expect(reading).rejects.toEqual(refused(message))
})
