import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '@tidemark/contracts'
import { CosmosConnection, CosmosDocumentCollection } from '@tidemark/gateway/client'
import { openMemoryEngine } from '@tidemark/engine-sqlite'
import { Collection, Store } from '@tidemark/store'
import { expect, test, vi } from 'vitest'
import { ServingProcess } from '../gateway/serving-process.ts'
import { SERVED_KEY } from '../gateway/signed-request.ts'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'

const LEASES = { database: 'db', container: 'leases' }
const KEY = { partitionKey: '/pk' }

const batchOf = (n: number) => [{ kind: 'upsert', document: { id: `d${n}`, pk: 'p', n } }] as const

test('a batch that does not wait for the disk says so to our gateway', async () => {
  await using under = await gatewayUnderTest()
  const open = async () => {
    const collection = new CosmosDocumentCollection(under.connect(), LEASES)
    await collection.createIfNotExists(KEY)
    return collection
  }
  const batch = vi.spyOn(Collection.prototype, 'batch')
  const syncs = async (collection: CosmosDocumentCollection) => {
    batch.mockClear()
    for (const sync of [undefined, true, false]) await collection.batch('p', batchOf(1), { sync })
    await collection.flush()
    return batch.mock.calls.map(([, , options]) => options?.sync)
  }
  expect(await syncs(await open())).toEqual([undefined, undefined, false])
  batch.mockRestore()
  expect(under.failures).toEqual([])
})

test('what is flushed of no container is not found', async () => {
  await using under = await gatewayUnderTest()
  const collection = new CosmosDocumentCollection(under.connect(), LEASES)
  const error = await collection.flush().catch((caught: unknown) => caught)
  expect(errorCode(error)).toBe('ERR_NOT_FOUND')
})

test('a flush over HTTP ends when the engine has flushed, and fails if that does', async () => {
  const engine = openMemoryEngine()
  const openDatabase = engine.openDatabase.bind(engine)
  const flushes: PromiseWithResolvers<void>[] = []
  const flush = (): Promise<void> => {
    const next = Promise.withResolvers<void>()
    flushes.push(next)
    return next.promise
  }
  vi.spyOn(engine, 'openDatabase').mockImplementation(async (id) => {
    return Object.assign(await openDatabase(id), { flush })
  })
  await using under = await gatewayUnderTest({ store: await Store.open({ engine }) })
  const collection = new CosmosDocumentCollection(under.connect({ maxAttempts: 1 }), LEASES)
  await collection.createIfNotExists(KEY)
  const ended = vi.fn<() => void>()
  const first = collection.flush().then(ended)
  await vi.waitFor(() => expect(flushes).toHaveLength(1))
  // Whatever else is asked meanwhile is answered.
  await collection.readPartition('p')
  expect(ended).not.toHaveBeenCalled()
  flushes[0]?.resolve()
  await first
  const second = collection.flush().catch((error: unknown) => errorCode(error))
  await vi.waitFor(() => expect(flushes.length).toBeGreaterThan(1))
  for (const each of flushes) each.reject(new Error('the disk is gone'))
  expect(await second).toMatch(/^ERR_/)
})

test('a server that is killed loses none of the batches that did not wait for the disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-unsynced-'))
  try {
    {
      await using server = await ServingProcess.start({ folder })
      const collection = collectionAt(server.endpoint)
      await collection.createIfNotExists(KEY)
      for (let n = 0; n < 50; n++) await collection.batch('p', batchOf(n), { sync: false })
      await server.kill()
    }
    await using again = await ServingProcess.start({ folder })
    const { documents } = await collectionAt(again.endpoint).readPartition('p')
    expect(new Set(documents.map(({ id }) => id))).toEqual(
      new Set(Array.from({ length: 50 }, (_, n) => `d${n}`)),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
})

function collectionAt(endpoint: string): CosmosDocumentCollection {
  return new CosmosDocumentCollection(new CosmosConnection({ endpoint, key: SERVED_KEY }), LEASES)
}
