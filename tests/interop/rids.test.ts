import type { Container } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, READ_ONLY_KEY, refusal, type Interop } from './interop.fixture.ts'
import type { WireAnswer, WireRequest } from './signed-request.ts'

/*
 * Paths of `_rid`s. source: PathsHelper (a path is of `_rid`s where the database is named by one) and
 * AuthorizationHelper (what is signed is then the last `_rid`, in lower case) of the service's .NET client, and the
 * same two of its Java client; PartitionKeyRangeCache of azure-cosmos-dotnet-v3 sends the first case.
 */

interface Links {
  readonly _rid: string
  readonly _self: string
}

const KEY_HEADER = { 'x-ms-documentdb-partitionkey': '["x"]' }

let interop: Interop
let container: Container
/** `dbs/{rid}`, and `dbs/{rid}/colls/{rid}` of the container. */
let databasePath: string
let path: string

beforeAll(async () => {
  interop = await openInterop()
})
beforeEach(async () => {
  container = await interop.container({ changeFeedPolicy: { retentionDuration: 5 } })
  const { resource } = await container.read()
  path = withoutSlash(linksOf(resource)._self)
  databasePath = path.split('/').slice(0, 2).join('/')
})
afterAll(() => interop.close())

function linksOf(resource: unknown): Links {
  return resource as Links
}

function withoutSlash(link: string): string {
  return link.replace(/\/$/, '')
}

/** The last `_rid` of a path in lower case: what clients sign of it. */
function ridLink(ofPath: string): string {
  const names = ofPath.split('/').filter((_, index) => index % 2 === 1)
  return names.at(-1)?.toLowerCase() ?? ''
}

function send(request: WireRequest): Promise<WireAnswer> {
  return interop.send({ signedLink: ridLink(request.path), ...request })
}

function create(body: object): Promise<WireAnswer> {
  return send({ method: 'POST', path: `${path}/docs`, headers: KEY_HEADER, body })
}

/** The path of a document by its `_rid`. */
async function documentPath(body: object): Promise<string> {
  const { json } = await create(body)
  return withoutSlash(linksOf(json)._self)
}

describe('Resources addressed by _rid', () => {
  test('the list of pkranges, read incrementally until it is 304', async () => {
    const headers = { 'a-im': 'Incremental feed', 'x-ms-max-item-count': '-1' }
    const listed = await send({ path: `${path}/pkranges`, headers })
    expect(listed.status).toBe(200)
    expect(listed.json?.['PartitionKeyRanges']).toMatchObject([{ id: '0', maxExclusive: 'FF' }])
    const etag = listed.headers.get('etag') ?? ''
    const again = await send({
      path: `${path}/pkranges`,
      headers: { ...headers, 'if-none-match': etag },
    })
    expect(again.status).toBe(304)
  })

  test('a database: read, its containers listed and queried, one made, and deleted', async () => {
    const { resource } = await interop.client.databases.create({ id: 'by-rid' })
    const own = `dbs/${linksOf(resource)._rid}`
    expect((await send({ path: own })).json).toMatchObject({ id: 'by-rid' })
    const body = { id: 'made', partitionKey: { paths: ['/pk'] } }
    const made = await send({ method: 'POST', path: `${own}/colls`, body })
    expect(made.status).toBe(201)
    expect((await send({ path: `${own}/colls` })).json).toMatchObject({ _count: 1 })
    const found = await send({
      method: 'POST',
      path: `${own}/colls`,
      headers: { 'content-type': 'application/query+json' },
      body: { query: "SELECT * FROM c WHERE c.id = 'made'" },
    })
    expect(found.json).toMatchObject({ _count: 1 })
    expect((await send({ method: 'DELETE', path: own })).status).toBe(204)
    expect((await send({ path: own })).status).toBe(404)
    expect((await refusal(interop.client.database('by-rid').read({}))).code).toBe(404)
  })

  test('a container: read, replaced and deleted', async () => {
    expect((await send({ path })).json).toMatchObject({ id: container.id })
    const body = { id: container.id, partitionKey: { paths: ['/pk'], version: 2 }, defaultTtl: 5 }
    expect((await send({ method: 'PUT', path, body })).json).toMatchObject({ defaultTtl: 5 })
    expect((await send({ method: 'DELETE', path })).status).toBe(204)
    expect((await send({ path })).status).toBe(404)
  })

  test('a document: made, read, replaced, patched and deleted', async () => {
    for (const id of ['before', 'after']) await create({ id, pk: 'x' })
    const own = await documentPath({ id: 'a', pk: 'x' })
    const headers = KEY_HEADER
    expect((await send({ path: own, headers })).json).toMatchObject({ id: 'a', pk: 'x' })
    const replaced = await send({
      method: 'PUT',
      path: own,
      headers,
      body: { id: 'a', pk: 'x', n: 1 },
    })
    expect(replaced.json).toMatchObject({ id: 'a', n: 1 })
    const body = [{ op: 'incr', path: '/n', value: 1 }]
    const patched = await send({ method: 'PATCH', path: own, headers, body })
    expect(patched.json).toMatchObject({ id: 'a', n: 2 })
    expect((await send({ method: 'DELETE', path: own, headers })).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      expect((await send({ method, path: own, headers })).status).toBe(404)
    }
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(2)
  })

  test('a replace by _rid keeps to the id of the document', async () => {
    const own = await documentPath({ id: 'a', pk: 'x' })
    const body = { id: 'b', pk: 'x' }
    const { status } = await send({ method: 'PUT', path: own, headers: KEY_HEADER, body })
    expect(status).toBe(400)
  })

  test('a document on a later page of its partition key value is found', async () => {
    const bulk = Array.from({ length: 1200 }, (_, n) => ({ id: `d${n}`, pk: 'x' }))
    const collection = interop.store.database('interop').collection(container.id)
    await Promise.all(bulk.map((document) => collection.create(document)))
    const own = await documentPath({ id: 'z', pk: 'x' })
    expect((await send({ path: own, headers: KEY_HEADER })).json).toMatchObject({ id: 'z' })
  })

  test('a document behind 64 MiB of others of its partition key value is 400, which asks for its id', async () => {
    const collection = interop.store.database('interop').collection(container.id)
    const text = 'x'.repeat(2_000_000)
    for (let n = 10; n < 50; n++) {
      const document = { id: `d${n}`, pk: 'x', text }
      await collection.create(document)
    }
    const own = await documentPath({ id: 'z', pk: 'x' })
    const refused = await send({ path: own, headers: KEY_HEADER })
    expect([refused.status, refused.json?.['message']]).toEqual([
      400,
      expect.stringContaining('address the document by its id'),
    ])
    const first = await documentPath({ id: 'a', pk: 'x' })
    expect((await send({ path: first, headers: KEY_HEADER })).json).toMatchObject({ id: 'a' })
  })

  test('a document of another partition key value is 404, and without one it is 400', async () => {
    const own = await documentPath({ id: 'a', pk: 'x' })
    const headers = { 'x-ms-documentdb-partitionkey': '["y"]' }
    expect((await send({ path: own, headers })).status).toBe(404)
    expect((await send({ path: own })).status).toBe(400)
  })

  test('documents: listed, queried, in a batch, upserted, followed in both feeds', async () => {
    const docs = `${path}/docs`
    await create({ id: 'a', pk: 'x' })
    expect((await send({ path: docs })).json).toMatchObject({ _count: 1 })
    const query = await send({
      method: 'POST',
      path: docs,
      headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True' },
      body: { query: 'SELECT VALUE c.id FROM c' },
    })
    expect(query.json).toMatchObject({ Documents: ['a'] })
    const batch = await send({
      method: 'POST',
      path: docs,
      headers: {
        ...KEY_HEADER,
        'x-ms-cosmos-is-batch-request': 'True',
        'x-ms-cosmos-batch-atomic': 'True',
      },
      body: [{ operationType: 'Create', resourceBody: { id: 'b', pk: 'x' } }],
    })
    expect(batch.status).toBe(200)
    const upsert = await send({
      method: 'POST',
      path: docs,
      headers: { ...KEY_HEADER, 'x-ms-documentdb-is-upsert': 'True' },
      body: { id: 'b', pk: 'x', n: 1 },
    })
    expect(upsert.status).toBe(200)
    const feed = await send({ path: docs, headers: { 'a-im': 'Incremental Feed' } })
    expect(feed.json).toMatchObject({ Documents: [{ id: 'a' }, { id: 'b', n: 1 }] })
    const versions = await send({
      path: docs,
      headers: { 'a-im': 'Full-Fidelity Feed', 'if-none-match': '*' },
    })
    expect(versions.status).toBe(304)
  })

  test('delete by partition key', async () => {
    await create({ id: 'a', pk: 'x' })
    const { status } = await send({
      method: 'POST',
      path: `${path}/operations/partitionkeydelete`,
      signedLink: ridLink(path),
      headers: KEY_HEADER,
    })
    expect(status).toBe(200)
    expect((await container.items.readAll().fetchAll()).resources).toEqual([])
  })

  test('_self of every kind of resource leads to it, with its slash at the end', async () => {
    const { resource: database } = await interop.database.read()
    const { resource: definition } = await container.read()
    const { resource: document } = await container.items.create({ id: 'a', pk: 'x' })
    for (const resource of [database, definition, document]) {
      const { _rid, _self } = linksOf(resource)
      expect(_self).toSatisfy((link: string) => link.endsWith(`/${_rid}/`))
      const { status, json } = await interop.send({
        path: _self,
        signedLink: _rid.toLowerCase(),
        headers: KEY_HEADER,
      })
      expect([status, json?.['_self']]).toEqual([200, _self])
    }
    const { resource: offer } = await container.readOffer()
    expect((await interop.send({ path: linksOf(offer)._self })).json).toEqual(offer)
  })

  test('answers name the container by its _rid and by its names', async () => {
    const { headers } = await create({ id: 'a', pk: 'x' })
    expect(headers.get('x-ms-content-path')).toBe(path.split('/')[3])
    expect(headers.get('x-ms-alt-content-path')).toBe(pathOf(container))
  })

  test('a re-created container is another one: the old _rid is 404 for every request', async () => {
    const own = await documentPath({ id: 'a', pk: 'x' })
    const database = interop.store.database('interop')
    await database.deleteCollection(container.id)
    await database.createCollection({ id: container.id, partitionKey: '/pk' })
    await container.items.create({ id: 'a', pk: 'x' })
    const body = { id: container.id, partitionKey: { paths: ['/pk'] } }
    const requests: readonly WireRequest[] = [
      { path },
      { path: `${path}/pkranges` },
      { path: `${path}/docs` },
      { path: `${path}/docs`, headers: { 'a-im': 'Incremental Feed' } },
      { path: own, headers: KEY_HEADER },
      { method: 'DELETE', path: own, headers: KEY_HEADER },
      { method: 'POST', path: `${path}/docs`, headers: KEY_HEADER, body: { id: 'b', pk: 'x' } },
      { method: 'PUT', path, body },
      { method: 'DELETE', path },
    ]
    for (const request of requests) expect((await send(request)).status).toBe(404)
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(1)
    const { resource } = await container.read()
    path = withoutSlash(linksOf(resource)._self)
    expect((await send({ path: `${path}/docs` })).json).toMatchObject({ _count: 1 })
  })

  test('a re-created database is another one: the old _rid is 404 for every request', async () => {
    const { resource } = await interop.client.databases.create({ id: 'renewed' })
    const own = `dbs/${linksOf(resource)._rid}`
    expect((await send({ path: own })).status).toBe(200)
    await interop.store.deleteDatabase('renewed')
    await interop.store.createDatabase('renewed')
    const body = { id: 'made', partitionKey: { paths: ['/pk'] } }
    const requests: readonly WireRequest[] = [
      { path: own },
      { path: `${own}/colls` },
      { method: 'POST', path: `${own}/colls`, body },
      { method: 'DELETE', path: own },
    ]
    for (const request of requests) expect((await send(request)).status).toBe(404)
    expect((await interop.client.database('renewed').read()).statusCode).toBe(200)
  })

  test('a pkrange header with the _rid of a container that was re-created is 410', async () => {
    const rid = path.split('/')[3] ?? ''
    const database = interop.store.database('interop')
    await database.deleteCollection(container.id)
    await database.createCollection({ id: container.id, partitionKey: '/pk' })
    for (const headers of [{ 'a-im': 'Incremental Feed' }, {}]) {
      const ofRange = { ...headers, 'x-ms-documentdb-partitionkeyrangeid': `${rid},0` }
      const { status, headers: answered } = await interop.send({
        path: `${pathOf(container)}/docs`,
        headers: ofRange,
      })
      expect([status, answered.get('x-ms-substatus')]).toEqual([410, '1000'])
    }
  })

  test('a container of another database is 404', async () => {
    const { resource } = await interop.client.databases.createIfNotExists({ id: 'other' })
    const coll = path.split('/')[3]
    const wrong = `dbs/${linksOf(resource)._rid}/colls/${coll}`
    expect((await send({ path: wrong })).status).toBe(404)
    // Also while the gateway knows what it is called.
    expect((await send({ path })).status).toBe(200)
    expect((await send({ path: wrong })).status).toBe(404)
  })

  test('a name of the form of a _rid stays a name: what is signed says which is meant', async () => {
    const id = 'AbCdEf=='
    await interop.client.databases.create({ id })
    expect((await interop.client.database(id).read()).resource?.id).toBe(id)
    expect((await send({ path: `dbs/${id}` })).status).toBe(404)
  })

  test.each([
    ['names signed as a _rid', () => pathOf(container), () => ridLink(path)],
    ['a _rid signed in its own case', () => path, () => path.split('/')[3] ?? ''],
    ['the _rid of the database for its container', () => path, () => ridLink(databasePath)],
    ['a name among _rids', () => `${databasePath}/colls/${container.id}`, () => container.id],
  ])('%s: 401', async (_, to, link) => {
    expect((await interop.send({ path: to(), signedLink: link() })).status).toBe(401)
  })

  test('a read-only key reads, and writes nothing', async () => {
    const own = await documentPath({ id: 'a', pk: 'x' })
    const key = READ_ONLY_KEY
    expect((await send({ path: own, headers: KEY_HEADER, key })).status).toBe(200)
    const removal = await send({ method: 'DELETE', path: own, headers: KEY_HEADER, key })
    expect(removal.status).toBe(403)
  })
})
