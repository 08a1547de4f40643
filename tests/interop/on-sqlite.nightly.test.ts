import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ChangeFeedMode,
  ChangeFeedStartFrom,
  ConsistencyLevel,
  CosmosClient,
  type OperationInput,
} from '@azure/cosmos'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { startGateway } from '@tidemark/gateway'
import { Store } from '@tidemark/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, drain, openInterop, pagesOf, sortedIds, type Interop } from './interop.fixture.ts'

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
  test('document operations, with conditions', async () => {
    const container = await interop.container()
    const { resource } = await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const item = container.item('a', 'x')
    const ifMatch = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } })
    await expect(item.replace({ id: 'a', pk: 'x' }, ifMatch('"old"'))).rejects.toMatchObject({
      code: 412,
    })
    await item.replace({ id: 'a', pk: 'x', n: 2 }, ifMatch(resource?._etag ?? ''))
    await item.patch([{ op: 'incr', path: '/n', value: 3 }])
    expect((await item.read<Doc>()).resource?.n).toBe(5)
    await expect(container.items.create({ id: 'a', pk: 'x' })).rejects.toMatchObject({ code: 409 })
    expect((await item.delete()).statusCode).toBe(204)
    expect((await item.read()).statusCode).toBe(404)
  })

  test('a batch commits as a whole or not at all', async () => {
    const container = await interop.container()
    const create = (id: string): OperationInput => {
      return { operationType: 'Create', resourceBody: { id, pk: 'x' } }
    }
    expect((await container.items.batch([create('a'), create('b')], 'x')).code).toBe(200)
    const { result } = await container.items.batch([create('c'), create('a')], 'x')
    expect(result?.map(({ statusCode }) => statusCode)).toEqual([424, 409])
    expect(sortedIds((await container.items.readAll().fetchAll()).resources)).toEqual(['a', 'b'])
  })

  test('bulk, lists, queries and the feed over several ranges', async () => {
    const container = await interop.container({ throughput: 25_100 })
    const creates = documents.map((resourceBody): OperationInput => {
      return { operationType: 'Create', resourceBody }
    })
    const statuses = (await container.items.bulk(creates)).map(({ statusCode }) => statusCode)
    expect(statuses).toEqual(IDS.map(() => 201))
    const { items } = await pagesOf(container.items.readAll({ maxItemCount: 6 }))
    expect(sortedIds(items)).toEqual(IDS)
    const ordered = container.items.query<number>('SELECT VALUE c.n FROM c ORDER BY c.n DESC')
    expect((await ordered.fetchAll()).resources).toEqual(IDS.map((_, n) => n).toReversed())
    const count = container.items.query<number>('SELECT VALUE COUNT(1) FROM c')
    expect((await count.fetchAll()).resources).toEqual([20])
    const feed = container.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      maxItemCount: 4,
    })
    expect(sortedIds(await drain(feed))).toEqual(IDS)
  })

  test('ST-9 a split while the feed is read: nothing lost, nothing twice', async () => {
    const container = await interop.container()
    for (const document of documents) await container.items.create(document)
    const feed = container.items.getChangeFeedIterator<Doc>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      maxItemCount: 5,
    })
    const seen: Doc[] = [...(await feed.readNext()).result]
    await interop.split(container, '0')
    await container.items.create({ id: 'late', pk: 'p3' })
    seen.push(...(await drain(feed)))
    expect(sortedIds(seen)).toEqual([...IDS, 'late'].toSorted())
  })

  test('CF-11 all versions and deletes', async () => {
    const container = await interop.container({ changeFeedPolicy: { retentionDuration: 5 } })
    const feed = container.items.getChangeFeedIterator<{ metadata: { operationType: string } }>({
      changeFeedStartFrom: ChangeFeedStartFrom.Now(),
      changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    })
    expect((await feed.readNext()).statusCode).toBe(304)
    await container.items.create({ id: 'a', pk: 'x' })
    await container.items.upsert({ id: 'a', pk: 'x', n: 1 })
    await container.item('a', 'x').delete()
    expect((await drain(feed)).map(({ metadata }) => metadata.operationType)).toEqual([
      'create',
      'replace',
      'delete',
    ])
  })

  test('TTL-4 expiry at the very second', async () => {
    const container = await interop.container({ defaultTtl: 10 })
    await container.items.create({ id: 'a', pk: 'x' })
    interop.clock.step(9_000)
    expect((await container.item('a', 'x').read()).statusCode).toBe(200)
    interop.clock.step(2_000)
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
    expect((await container.items.create({ id: 'a', pk: 'x' })).statusCode).toBe(201)
  })

  test('CF-15 a session reads its own writes', async () => {
    const { id } = await interop.container()
    const client = interop.connect({ consistencyLevel: ConsistencyLevel.Session })
    const container = client.database('interop').container(id)
    for (const n of [1, 2, 3]) {
      await container.items.upsert({ id: 'a', pk: 'x', n })
      expect((await container.item('a', 'x').read<Doc>()).resource?.n).toBe(n)
    }
  })

  test('deletes by partition key', async () => {
    const container = await interop.container()
    for (const pk of ['x', 'y']) await container.items.create({ id: 'a', pk })
    await container.deleteAllItemsForPartitionKey('x')
    expect((await container.items.readAll().fetchAll()).resources).toMatchObject([{ pk: 'y' }])
  })

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
