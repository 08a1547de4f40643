import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { startGateway } from '@tidemark/gateway'
import { Store } from '@tidemark/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, drain, openInterop, sortedIds, type Interop } from './interop.fixture.ts'

let interop: Interop
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-interop-'))
  interop = await openInterop({
    openEngine: (clock) => openSqliteEngine({ folder, clock, durability: 'relaxed' }),
  })
})
afterAll(async () => {
  await interop.close()
  await rm(folder, { recursive: true, force: true })
})

interface Doc {
  readonly id: string
  readonly n?: number
}

const IDS = Array.from({ length: 20 }, (_, n) => `d${n}`).toSorted()
const documents = IDS.map((id, n) => ({ id, pk: `p${n}`, n }))

describe('The same over SQLite', () => {
  test('CF-8 ST-6 another gateway over the same folder: documents, etags, offers of databases and continuations are good', async () => {
    const container = await interop.container()
    for (const document of documents.slice(0, 5)) await container.items.create(document)
    const { continuationToken } = await container.items
      .getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() })
      .readNext()
    const { etag } = await container.item('d0', 'p0').read()
    await container.items.create({ id: 'after', pk: 'p1' })
    await using store = await Store.open({ engine: await openSqliteEngine({ folder }) })
    await using gateway = await startGateway({ store, keys: { readWrite: [KEY] }, port: 0 })
    const client = new CosmosClient({ endpoint: gateway.endpoint, key: KEY })
    const other = client.database('interop').container(container.id)
    expect((await other.item('d0', 'p0').read()).etag).toBe(etag)
    const { database } = await interop.client.databases.create({ id: 'shared', throughput: 900 })
    const { resource: offer } = await client.database('shared').readOffer()
    expect(offer).toMatchObject({ content: { offerThroughput: 900 } })
    expect((await database.readOffer()).resource).toEqual(offer)
    const rest = other.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
    })
    expect(sortedIds(await drain(rest))).toEqual(['after'])
    client.dispose()
  })

  test('unique keys hold over two gateways of a folder, each with a store of its own', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    await using store = await Store.open({ engine: await openSqliteEngine({ folder }) })
    await using gateway = await startGateway({ store, keys: { readWrite: [KEY] }, port: 0 })
    const client = new CosmosClient({ endpoint: gateway.endpoint, key: KEY })
    const other = client.database('interop').container(container.id)
    const writes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? container : other).items.create({ id: `d${n}`, pk: 'x', mail: `m${n % 3}` }),
      ),
    )
    expect(writes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    for (const write of writes) {
      if (write.status === 'rejected') expect(write.reason).toMatchObject({ code: 409 })
    }
    client.dispose()
  })

  test('a _rid stays with its container when another store re-creates it, and its database', async () => {
    const { container } = await (
      await interop.client.databases.create({ id: 'renewed' })
    ).database.containers.create({ id: 'c', partitionKey: '/pk' })
    const { resource } = await container.read()
    const { _rid, _self: path } = resource as unknown as { _rid: string; _self: string }
    const read = async (suffix: string) => {
      const signedLink = _rid.toLowerCase()
      return (await interop.send({ path: `${path}${suffix}`, signedLink })).status
    }
    const expectAll = async (status: number) => {
      for (const suffix of ['', 'pkranges', 'docs']) expect(await read(suffix)).toBe(status)
    }
    await expectAll(200)
    await using store = await Store.open({ engine: await openSqliteEngine({ folder }) })
    const database = store.database('renewed')
    await database.deleteCollection('c')
    await database.createCollection({ id: 'c', partitionKey: '/pk' })
    await expectAll(404)
    await store.deleteDatabase('renewed')
    await store.createDatabase('renewed')
    await database.createCollection({ id: 'c', partitionKey: '/pk' })
    await expectAll(404)
    expect((await container.read()).statusCode).toBe(200)
  })
})
