import {
  GeospatialType,
  IndexingMode,
  PartitionKeyKind,
  SpatialType,
  type Container,
} from '@azure/cosmos'
import type { DocumentBody } from '@tidemark/contracts'
import { startGateway } from '@tidemark/gateway'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, idsOf, openInterop, pathOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

/** The status of a container made of a body that the client would not send. */
async function statusOf(body: object): Promise<number> {
  const { status } = await interop.send({ method: 'POST', path: 'dbs/interop/colls', body })
  return status
}

describe('Containers', () => {
  test('create answers 201 with the definition and the system properties', async () => {
    const { statusCode, resource } = await interop.database.containers.create({
      id: 'made',
      partitionKey: { paths: ['/a/b'], version: 2 },
    })
    expect(statusCode).toBe(201)
    expect(resource).toMatchObject({
      id: 'made',
      partitionKey: { paths: ['/a/b'], version: 2, kind: 'Hash' },
      _rid: expect.any(String),
      _etag: expect.stringMatching(/^"[^"]+"$/),
      _ts: expect.any(Number),
      _docs: 'docs/',
      _sprocs: 'sprocs/',
      _triggers: 'triggers/',
      _udfs: 'udfs/',
      _conflicts: 'conflicts/',
    })
    const { resource: database } = await interop.database.read()
    const { _rid, _self } = resource as unknown as { _rid: string; _self: string }
    expect(Buffer.from(_rid.replaceAll('-', '/'), 'base64')).toHaveLength(8)
    expect(_self).toBe(`dbs/${String(database?.['_rid'])}/colls/${_rid}/`)
  })

  test('a partition key given as text becomes a hash of version 1, and no version is invented', async () => {
    const { resource } = await interop.database.containers.create({
      id: 'text',
      partitionKey: '/pk',
    })
    expect(resource?.partitionKey).toEqual({ paths: ['/pk'], kind: 'Hash' })
  })

  test('a path /_partitionKey that the client gives, or puts in place of none, is not marked as the system key', async () => {
    const { resource } = await interop.database.containers.create({ id: 'none' })
    expect(resource?.partitionKey).toEqual({ paths: ['/_partitionKey'], kind: 'Hash' })
  })

  test('without a partition key it is 400 from version 2018-12-31 on', async () => {
    for (const version of ['2018-12-31', '2020-07-15']) {
      const answer = await interop.send({
        method: 'POST',
        path: 'dbs/interop/colls',
        headers: { 'x-ms-version': version },
        body: { id: `keyless-${version}` },
      })
      expect(answer).toMatchObject({
        status: 400,
        json: { message: expect.stringContaining('partitionKey') },
      })
    }
  })

  test('a hierarchical definition of three paths comes back as it was given', async () => {
    const partitionKey = {
      paths: ['/tenant', '/user', '/session'],
      version: 2,
      kind: PartitionKeyKind.MultiHash,
    }
    const { resource } = await interop.database.containers.create({ id: 'deep', partitionKey })
    expect(resource?.partitionKey).toEqual(partitionKey)
  })

  test('read gives what create gave', async () => {
    const { container, resource } = await interop.database.containers.create({ id: 'read' })
    expect((await container.read()).resource).toEqual(resource)
  })

  test('create of an id that exists is 409', async () => {
    await interop.database.containers.create({ id: 'twice' })
    expect((await refusal(interop.database.containers.create({ id: 'twice' }))).code).toBe(409)
  })

  test('createIfNotExists makes it once and reads it from then on', async () => {
    const first = await interop.database.containers.createIfNotExists({ id: 'maybe' })
    const second = await interop.database.containers.createIfNotExists({ id: 'maybe' })
    expect([first.statusCode, second.statusCode]).toEqual([201, 200])
  })

  test('a container in a database that is not there is 404', async () => {
    const { containers } = interop.client.database('nowhere')
    expect((await refusal(containers.create({ id: 'c' }))).code).toBe(404)
  })

  test('read, replace and delete of a container that is not there are 404', async () => {
    const container = interop.database.container('nothing')
    expect((await refusal(container.read())).code).toBe(404)
    expect((await refusal(container.delete())).code).toBe(404)
    const definition = { id: 'nothing', partitionKey: { paths: ['/pk'] } }
    expect((await refusal(container.replace(definition))).code).toBe(404)
  })

  test('readAll lists the containers of one database only', async () => {
    const { database } = await interop.client.databases.create({ id: 'list' })
    for (const id of ['one', 'two']) await database.containers.create({ id })
    const { resources } = await database.containers.readAll().fetchAll()
    expect(idsOf(resources)).toEqual(['one', 'two'])
  })

  test('a query by id finds the one container', async () => {
    await interop.database.containers.create({ id: 'sought' })
    const { resources } = await interop.database.containers
      .query({
        query: 'SELECT * FROM root r WHERE r.id=@id',
        parameters: [{ name: '@id', value: 'sought' }],
      })
      .fetchAll()
    expect(idsOf(resources)).toEqual(['sought'])
  })

  test('delete answers 204; the container and its documents are gone', async () => {
    const container = await interop.container()
    await container.items.create({ id: 'a', pk: 'x' })
    expect((await container.delete()).statusCode).toBe(204)
    expect((await refusal(container.read())).code).toBe(404)
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
  })

  test.each([
    ['x-ms-cosmos-intended-collection-rid', (rid: string) => rid, 400, '1024'],
    ['x-ms-documentdb-partitionkeyrangeid', (rid: string) => `${rid},0`, 410, '1000'],
    ['x-ms-documentdb-partitionkeyrangeid', (rid: string) => `${rid},1`, 410, '1000'],
  ] as const)(
    'a request that means one of the same name that was deleted, by %s, is told so',
    async (header, valueOf, status, substatus) => {
      const before = await interop.container({ throughput: 20_000 })
      const { _rid } = (await before.read()).resource as unknown as { _rid: string }
      await before.delete()
      const id = before.id
      await interop.database.containers.create({ id, partitionKey: '/pk' })
      const path = `${pathOf(before)}/docs`
      const own = { [header]: valueOf(_rid) }
      const query = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True' }
      const body = { query: 'SELECT c.id FROM c' }
      const bulk = { 'x-ms-cosmos-is-batch-request': 'True' }
      const key = { 'x-ms-documentdb-partitionkey': '["x"]' }
      const answers = await Promise.all([
        interop.send({ method: 'POST', path, headers: { ...query, ...own }, body }),
        interop.send({ method: 'POST', path, headers: { ...bulk, ...own, ...key }, body: [] }),
        interop.send({ path, headers: own }),
        interop.send({ path, headers: { 'a-im': 'Incremental feed', ...own } }),
        interop.send({ path: `${path}/a`, headers: { ...key, ...own } }),
      ])
      const told = answers.map((answer) => [answer.status, answer.headers.get('x-ms-substatus')])
      expect(told).toEqual(answers.map(() => [status, substatus]))
    },
  )

  test('made anew under the same name it has another _rid and is empty', async () => {
    const first = await interop.database.containers.create({ id: 'again', partitionKey: '/pk' })
    await first.container.items.create({ id: 'a', pk: 'x' })
    await first.container.delete()
    const second = await interop.database.containers.create({ id: 'again', partitionKey: '/pk' })
    const rids = [first, second].map(
      ({ resource }) => (resource as unknown as { _rid: string })._rid,
    )
    expect(new Set(rids).size).toBe(2)
    expect((await second.container.item('a', 'x').read()).statusCode).toBe(404)
  })

  test.each(['with spaces', '中文', 'a%20b', "o'clock", 'c,d=e.f:g~h', '(a)!$&*@'])(
    'the name %s goes through URL and signature',
    async (id) => {
      const { container } = await interop.database.containers.create({ id, partitionKey: '/pk' })
      await container.items.create({ id: 'doc', pk: id })
      expect((await container.item('doc', id).read()).resource).toMatchObject({ pk: id })
      expect((await container.read()).resource?.id).toBe(id)
    },
  )

  test.each([
    ['without id', { partitionKey: { paths: ['/pk'] } }],
    ['with an empty id', { id: '', partitionKey: { paths: ['/pk'] } }],
    ['with a slash in its id', { id: 'a/b', partitionKey: { paths: ['/pk'] } }],
    ['whose paths are a text', { id: 'bad', partitionKey: { paths: '/pk' } }],
    ['with a path without slash', { id: 'bad', partitionKey: { paths: ['pk'] } }],
    ['without paths', { id: 'bad', partitionKey: { paths: [] } }],
    [
      'with four paths',
      {
        id: 'bad',
        partitionKey: { paths: ['/a', '/b', '/c', '/d'], kind: 'MultiHash', version: 2 },
      },
    ],
    [
      'with two paths of kind Hash',
      { id: 'bad', partitionKey: { paths: ['/a', '/b'], kind: 'Hash' } },
    ],
    ['with hash version 3', { id: 'bad', partitionKey: { paths: ['/a'], version: 3 } }],
    ['of an unknown hash kind', { id: 'bad', partitionKey: { paths: ['/a'], kind: 'Range' } }],
    ['with defaultTtl null', { id: 'bad', partitionKey: { paths: ['/a'] }, defaultTtl: null }],
    ['with defaultTtl 0', { id: 'bad', partitionKey: { paths: ['/a'] }, defaultTtl: 0 }],
    ['with defaultTtl -2', { id: 'bad', partitionKey: { paths: ['/a'] }, defaultTtl: -2 }],
    ['with defaultTtl 1.5', { id: 'bad', partitionKey: { paths: ['/a'] }, defaultTtl: 1.5 }],
    ['with a defaultTtl of text', { id: 'bad', partitionKey: { paths: ['/a'] }, defaultTtl: '5' }],
    [
      'with an unknown indexing mode',
      { id: 'bad', partitionKey: { paths: ['/a'] }, indexingPolicy: { indexingMode: 'often' } },
    ],
    [
      'with defaultTtl and no indexing',
      {
        id: 'bad',
        partitionKey: { paths: ['/a'] },
        defaultTtl: 5,
        indexingPolicy: { indexingMode: 'none', automatic: false },
      },
    ],
    [
      'with a unique key that is no list of paths',
      {
        id: 'bad',
        partitionKey: { paths: ['/a'] },
        uniqueKeyPolicy: { uniqueKeys: [{ paths: 'x' }] },
      },
    ],
  ])('TTL-1 TTL-10 a container %s is 400 and is not made', async (_, body) => {
    expect(await statusOf(body)).toBe(400)
    expect((await refusal(interop.database.container('bad').read())).code).toBe(404)
  })

  test('a body that is no JSON object is 400', async () => {
    const send = (body: string) => interop.send({ method: 'POST', path: 'dbs/interop/colls', body })
    for (const body of ['', '[]', '"text"', '{', 'null']) {
      expect((await send(body)).status).toBe(400)
    }
  })
})

// As the clients' own tests have it of the service: npcontainer.spec of @azure/cosmos, and ReadNonPartitionItemAsync of the
// .NET client, which makes such containers with version 2018-09-17.
describe('Containers without a partition key', () => {
  const OLD = { 'x-ms-version': '2018-09-17' }
  let container: Container
  beforeAll(async () => {
    const body = { id: 'fixed' }
    const path = 'dbs/interop/colls'
    const made = await interop.send({ method: 'POST', path, headers: OLD, body })
    expect(made.status).toBe(201)
    container = interop.database.container('fixed')
  })

  test('are made by versions before 2018-12-31, with the system key', async () => {
    const { resource } = await container.read()
    expect(resource?.partitionKey).toEqual({
      paths: ['/_partitionKey'],
      kind: 'Hash',
      systemKey: true,
    })
  })

  test('keep documents of old clients, which send no partition key, and show them to new ones', async () => {
    const path = `${pathOf(container)}/docs`
    const body = { id: 'old', n: 1 }
    expect(await interop.send({ method: 'POST', path, headers: OLD, body })).toMatchObject({
      status: 201,
      json: body,
    })
    expect((await container.item('old').read()).resource).toMatchObject(body)
    const one = `${path}/old`
    for (const headers of [OLD, { 'x-ms-documentdb-partitionkey': '[]' }]) {
      expect((await interop.send({ path: one, headers })).json).toMatchObject(body)
    }
    const put = { method: 'PUT', path: one, headers: OLD, body: { id: 'old', n: 2 } }
    expect((await interop.send(put)).json).toMatchObject({ n: 2 })
    expect((await interop.send({ method: 'DELETE', path: one, headers: OLD })).status).toBe(204)
  })

  test('are read, written and queried by new clients, with key values and without', async () => {
    await container.items.create({ id: 'a', foo: 1 })
    await container.items.upsert({ id: 'b' })
    await container.items.create({ id: 'c', _partitionKey: 'later' })
    const replaced = await container.item('a').replace({ id: 'a', foo: 2 })
    expect(replaced.resource).toMatchObject({ foo: 2 })
    const { resources } = await container.items.readAll().fetchAll()
    expect(idsOf(resources).toSorted()).toEqual(['a', 'b', 'c'])
    const keyed = container.items.query('SELECT * FROM c', { partitionKey: 'later' })
    expect(idsOf((await keyed.fetchAll()).resources)).toEqual(['c'])
    expect((await container.item('b').delete()).statusCode).toBe(204)
    expect((await container.item('b').read()).statusCode).toBe(404)
    expect((await container.item('c', 'later').read()).statusCode).toBe(200)
  })

  test('are replaced by old clients that name no key, and keep it', async () => {
    const path = pathOf(container)
    const body = { id: 'fixed', defaultTtl: 1000 }
    const replaced = await interop.send({ method: 'PUT', path, headers: OLD, body })
    expect(replaced).toMatchObject({
      status: 200,
      json: { defaultTtl: 1000, partitionKey: { systemKey: true } },
    })
  })
})

describe('Container definition', () => {
  test('the default indexing policy is consistent, of all paths but _etag', async () => {
    const { resource } = await interop.database.containers.create({ id: 'policy' })
    expect(resource?.indexingPolicy).toEqual({
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    })
  })

  test("a policy of one's own keeps its paths and gets the exclusion of _etag", async () => {
    const { resource } = await interop.database.containers.create({
      id: 'own-policy',
      indexingPolicy: {
        automatic: true,
        indexingMode: IndexingMode.consistent,
        includedPaths: [{ path: '/*' }],
        excludedPaths: [{ path: '/"systemMetadata"/*' }],
      },
    })
    expect(resource?.indexingPolicy?.includedPaths).toHaveLength(1)
    expect(resource?.indexingPolicy?.excludedPaths).toEqual([
      { path: '/"systemMetadata"/*' },
      { path: '/"_etag"/?' },
    ])
  })

  test('an empty policy and one of included paths only are completed', async () => {
    for (const [id, indexingPolicy] of [
      ['empty-policy', {}],
      ['included-policy', { includedPaths: [{ path: '/*' }] }],
    ] as const) {
      const { resource } = await interop.database.containers.create({ id, indexingPolicy } as never)
      expect(resource?.indexingPolicy?.includedPaths).toHaveLength(1)
      expect(resource?.indexingPolicy?.excludedPaths).toHaveLength(1)
    }
  })

  test('the mode is lower case whatever was sent', async () => {
    const { resource } = await interop.database.containers.create({
      id: 'upper-mode',
      indexingPolicy: { indexingMode: 'Consistent' as never },
    })
    expect(resource?.indexingPolicy?.indexingMode).toBe('consistent')
  })

  test('indexing mode none is accepted without TTL', async () => {
    const { resource } = await interop.database.containers.create({
      id: 'no-index',
      indexingPolicy: { indexingMode: IndexingMode.none, automatic: false },
    })
    expect(resource?.indexingPolicy?.indexingMode).toBe('none')
  })

  test('composite and spatial indexes are kept', async () => {
    const compositeIndexes = [
      [
        { path: '/a', order: 'ascending' as const },
        { path: '/b', order: 'descending' as const },
      ],
    ]
    const spatialIndexes = [{ path: '/region/?', types: [SpatialType.Polygon] }]
    const { resource } = await interop.database.containers.create({
      id: 'indexes',
      indexingPolicy: { compositeIndexes, spatialIndexes } as never,
    })
    expect(resource?.indexingPolicy).toMatchObject({ compositeIndexes })
    // Completed, as in the service.
    const types = ['Point', 'LineString', 'Polygon', 'MultiPolygon']
    expect(resource?.indexingPolicy).toMatchObject({
      spatialIndexes: [{ path: '/region/?', types }],
    })
  })

  test('kinds of indexes in included paths are taken and dropped', async () => {
    const indexes = [{ kind: 'Range', dataType: 'Number', precision: -1 }]
    const { resource } = await interop.database.containers.create({
      id: 'old-indexes',
      indexingPolicy: { includedPaths: [{ path: '/*', indexes }] } as never,
    })
    expect(resource?.indexingPolicy?.includedPaths).toEqual([{ path: '/*' }])
  })

  // Paths: the service's messages in reports of users say that "partition key paths must contain only valid characters and
  // not contain a trailing slash or wildcard character", and its documentation of indexing policies which names have to be
  // quoted. Vector indexes: vectorEmbeddingPolicy.spec of @azure/cosmos. Spatial types and computed properties:
  // ContainerNegativeSpatialIndexTest and ContainerNegativeComputedPropertyTest of the .NET client.
  test.each([
    [{ partitionKey: { paths: ['/id ds'] } }, '"/id ds"'],
    [{ partitionKey: { paths: ['/a/*'] } }, '"/a/*"'],
    [{ partitionKey: { paths: ['/a/?'] } }, '"/a/?"'],
    [{ partitionKey: { paths: ['/a/'] } }, '"/a/"'],
    [{ partitionKey: { paths: ['/a.b'] } }, '"/a.b"'],
    [{ partitionKey: { paths: ['a'] } }, '"a"'],
    [{ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a/*'] }] } }, '"/a/*"'],
    [{ indexingPolicy: { includedPaths: [{ path: '/*' }, { path: '/a' }] } }, '"/a"'],
    [{ indexingPolicy: { excludedPaths: [{ path: '/a/*/b/?' }] } }, '"/a/*/b/?"'],
    [{ indexingPolicy: { excludedPaths: [{ path: '/a-b/?' }] } }, '"/a-b/?"'],
    [{ indexingPolicy: { compositeIndexes: [[{ path: '/a' }]] } }, 'compositeIndexes'],
    [{ indexingPolicy: { compositeIndexes: { path: '/a' } } }, 'compositeIndexes'],
    [
      {
        indexingPolicy: { compositeIndexes: [[{ path: '/a', order: 'invalid' }, { path: '/b' }]] },
      },
      '"invalid"',
    ],
    [{ indexingPolicy: { compositeIndexes: [[{ path: '/a/*' }, { path: '/b' }]] } }, '"/a/*"'],
    [{ indexingPolicy: { spatialIndexes: [{ path: '/a/?' }] } }, 'types'],
    [{ indexingPolicy: { spatialIndexes: [{ path: '/a/?', types: ['Cube'] }] } }, 'types'],
    [{ indexingPolicy: { vectorIndexes: [{ path: '/v', type: 'flat' }] } }, '"/v"'],
    [
      {
        indexingPolicy: { vectorIndexes: [{ path: '/w', type: 'flat' }] },
        vectorEmbeddingPolicy: { vectorEmbeddings: [{ path: '/v', dimensions: 3 }] },
      },
      '"/w"',
    ],
    [
      {
        vectorEmbeddingPolicy: { vectorEmbeddings: [{ path: '/v', dimensions: -1 }] },
        indexingPolicy: {},
      },
      'dimensions',
    ],
    [{ indexingPolicy: { fullTextIndexes: [{ path: '/t' }] } }, '"/t"'],
    [{ computedProperties: [{ query: 'SELECT VALUE c.a FROM c' }] }, 'computedProperties'],
    [{ computedProperties: [{ name: 'id', query: 'SELECT VALUE c.a FROM c' }] }, '"id"'],
    [
      {
        computedProperties: [
          { name: 'twice', query: 'SELECT VALUE c.a FROM c' },
          { name: 'twice', query: 'SELECT VALUE c.b FROM c' },
        ],
      },
      '"twice"',
    ],
  ])('%j is 400, and names what is wrong', async (wrong, named) => {
    const body = { id: 'wrong', partitionKey: { paths: ['/pk'], kind: 'Hash' }, ...wrong }
    const answer = await interop.send({ method: 'POST', path: 'dbs/interop/colls', body })
    expect(answer).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining(named) },
    })
    expect((await refusal(interop.database.container('wrong').read())).code).toBe(404)
  })

  test('a replace with an invalid policy is 400 and changes nothing', async () => {
    const container = await interop.container()
    const { resource } = await container.read()
    const indexingPolicy = { ...resource!.indexingPolicy, compositeIndexes: [[{ path: '/a' }]] }
    const refused = container.replace({ ...resource!, indexingPolicy } as never)
    expect((await refusal(refused)).code).toBe(400)
    expect((await container.read()).resource).toEqual(resource)
  })

  test('quoted names, lists and vector indexes with their policy are kept', async () => {
    const own = {
      partitionKey: { paths: ['/"a b"/c'], kind: 'Hash', version: 2 },
      indexingPolicy: {
        indexingMode: 'consistent',
        automatic: true,
        includedPaths: [{ path: '/*' }, { path: '/list/[]/n/?' }, { path: '/"a-b"/?' }],
        excludedPaths: [{ path: '/"_etag"/?' }],
        compositeIndexes: [[{ path: '/a' }, { path: '/"b c"/d', order: 'descending' }]],
        vectorIndexes: [{ path: '/v', type: 'flat' }],
      },
      vectorEmbeddingPolicy: {
        vectorEmbeddings: [
          { path: '/v', dataType: 'float32', dimensions: 3, distanceFunction: 'cosine' },
        ],
      },
    }
    const body = { id: 'quoted', ...own }
    const answer = await interop.send({ method: 'POST', path: 'dbs/interop/colls', body })
    expect(answer).toMatchObject({ status: 201, json: own })
  })

  test('geospatialConfig is Geography until it is replaced', async () => {
    const { container, resource } = await interop.database.containers.create({ id: 'geo' })
    expect(resource?.geospatialConfig).toEqual({ type: 'Geography' })
    const geospatialConfig = { type: GeospatialType.Geometry }
    const replaced = await container.replace({ ...resource!, geospatialConfig } as never)
    expect(replaced.resource?.geospatialConfig).toEqual({ type: 'Geometry' })
  })

  test('unique keys, conflict resolution and computed properties are kept', async () => {
    const own = {
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }, { paths: ['/a/b', '/c'] }] },
      conflictResolutionPolicy: {
        mode: 'LastWriterWins' as const,
        conflictResolutionPath: '/stamp',
        conflictResolutionProcedure: '',
      },
      computedProperties: [{ name: 'lower', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
    }
    const { resource } = await interop.database.containers.create({ id: 'kept', ...own })
    expect(resource).toMatchObject(own)
  })

  test('conflict resolution is by _ts unless said otherwise', async () => {
    const { resource } = await interop.database.containers.create({ id: 'conflicts' })
    expect(resource?.conflictResolutionPolicy).toMatchObject({
      mode: 'LastWriterWins',
      conflictResolutionPath: '/_ts',
    })
  })

  test('CF-11 changeFeedPolicy is kept, in minutes', async () => {
    const container = await interop.container({ changeFeedPolicy: { retentionDuration: 10 } })
    const { resource } = await container.read()
    expect(resource).toMatchObject({ changeFeedPolicy: { retentionDuration: 10 } })
  })

  test('replace answers 200 with the new definition and another etag', async () => {
    const container = await interop.container({ defaultTtl: 60 })
    const { resource } = await container.read()
    const replaced = await container.replace({ ...resource!, defaultTtl: 120 })
    expect(replaced.statusCode).toBe(200)
    expect(replaced.resource?.defaultTtl).toBe(120)
    expect(replaced.etag).not.toBe((resource as unknown as { _etag: string })._etag)
    expect((await container.read()).resource).toEqual(replaced.resource)
  })

  test('TTL-8 a replace that leaves defaultTtl out switches it off', async () => {
    const container = await interop.container({ defaultTtl: 60 })
    const { defaultTtl, ...definition } = (await container.read()).resource!
    expect(defaultTtl).toBe(60)
    const { resource } = await container.replace(definition)
    expect(resource).not.toHaveProperty('defaultTtl')
  })

  test('a replace that changes the partition key is 400', async () => {
    const container = await interop.container()
    const { resource } = await container.read()
    const changed = { ...resource!, partitionKey: { paths: ['/other'], version: 2 } }
    expect((await refusal(container.replace(changed))).code).toBe(400)
    expect((await container.read()).resource).toEqual(resource)
  })

  test('a replace that changes the id is 400', async () => {
    const container = await interop.container()
    const { resource } = await container.read()
    expect((await refusal(container.replace({ ...resource!, id: 'renamed' }))).code).toBe(400)
  })

  test('a replace with defaultTtl null or 0 is 400 and changes nothing', async () => {
    const container = await interop.container({ defaultTtl: 60 })
    const { resource } = await container.read()
    for (const defaultTtl of [null, 0, -5]) {
      const refused = container.replace({ ...resource!, defaultTtl: defaultTtl as never })
      expect((await refusal(refused)).code).toBe(400)
    }
    expect((await container.read()).resource?.defaultTtl).toBe(60)
  })

  test('a replace with an old etag in If-Match is 412', async () => {
    const container = await interop.container()
    const { resource } = await container.read()
    const accessCondition = { type: 'IfMatch', condition: '"old"' }
    const refused = container.replace({ ...resource!, defaultTtl: 5 }, { accessCondition })
    expect((await refusal(refused)).code).toBe(412)
  })

  test('of replaces that race with one etag exactly one wins', async () => {
    const container = await interop.container()
    const { resource } = await container.read()
    const accessCondition = { type: 'IfMatch', condition: resource!._etag }
    const results = await Promise.allSettled(
      [1, 2, 3, 4].map((n) =>
        container.replace({ ...resource!, defaultTtl: 100 + n }, { accessCondition }),
      ),
    )
    const won = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(won).toHaveLength(1)
    const { resource: after } = await container.read()
    expect(after).toEqual(won[0]?.resource)
  })

  test('a delete with an old etag in If-Match is 412 and deletes nothing, with the present one 204', async () => {
    const container = await interop.container()
    const deleteWith = (condition: string): Promise<unknown> =>
      container.delete({ accessCondition: { type: 'IfMatch', condition } })
    const { resource } = await container.read()
    await container.replace({ ...resource!, defaultTtl: 5 })
    expect((await refusal(deleteWith(resource!._etag))).code).toBe(412)
    const { resource: present } = await container.read()
    await deleteWith(present!._etag)
    expect((await refusal(container.read())).code).toBe(404)
  })

  test('read with quota information tells how far the index is', async () => {
    const container = await interop.container()
    const { headers } = await container.read({ populateQuotaInfo: true })
    expect(headers['x-ms-documentdb-collection-index-transformation-progress']).toBe('100')
    expect(headers['x-ms-resource-quota']).toContain('collectionSize=')
  })

  test('a container of lazy indexing tells how far that is, others do not', async () => {
    const name = 'x-ms-documentdb-collection-lazy-indexing-progress'
    const lazy = await interop.container({ indexingPolicy: { indexingMode: IndexingMode.lazy } })
    expect((await lazy.read()).headers[name]).toBe('100')
    const plain = await interop.container()
    expect((await plain.read()).headers).not.toHaveProperty(name)
  })

  test('the path of the container comes with every answer, as the client wrote it', async () => {
    const container = await interop.container({ id: 'alt pfäd' })
    const { headers } = await container.items.create({ id: 'a', pk: 'x' })
    expect(headers['x-ms-alt-content-path']).toBe(encodeURI(pathOf(container)))
    const { resource } = await container.read()
    expect(headers['x-ms-content-path']).toBe((resource as unknown as { _rid: string })._rid)
  })

  test('a container made in process answers with a complete definition', async () => {
    const database = interop.store.database('interop')
    await database.createCollection({ id: 'in-process', partitionKey: '/pk', defaultTtl: 30 })
    const container = interop.database.container('in-process')
    const { resource } = await container.read()
    expect(resource).toMatchObject({
      id: 'in-process',
      defaultTtl: 30,
      partitionKey: { paths: ['/pk'], version: 2, kind: 'Hash' },
      indexingPolicy: { indexingMode: 'consistent' },
    })
    await container.items.create({ id: 'a', pk: 'x' })
    expect((await container.item('a', 'x').read()).statusCode).toBe(200)
  })
})

describe('Unique keys', () => {
  test('a second document with the same unique key in one partition is 409', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    await container.items.create({ id: 'a', pk: 'x', mail: 'm' })
    const second = container.items.create({ id: 'b', pk: 'x', mail: 'm' })
    expect((await refusal(second)).code).toBe(409)
    expect((await container.item('b', 'x').read()).statusCode).toBe(404)
  })

  test('the same unique key in another partition is allowed', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    await container.items.create({ id: 'a', pk: 'x', mail: 'm' })
    const other = await container.items.create({ id: 'a', pk: 'y', mail: 'm' })
    expect(other.statusCode).toBe(201)
  })

  test('a unique key of two paths counts both', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a', '/b'] }] },
    })
    await container.items.create({ id: '1', pk: 'x', a: 1, b: 1 })
    await container.items.create({ id: '2', pk: 'x', a: 1, b: 2 })
    const third = container.items.create({ id: '3', pk: 'x', a: 1, b: 1 })
    expect((await refusal(third)).code).toBe(409)
  })

  test('a unique key is free again after a delete, and after a replace', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    await container.items.create({ id: 'a', pk: 'x', mail: 'm' })
    await container.items.create({ id: 'b', pk: 'x', mail: 'n' })
    const taken = container.item('b', 'x').replace({ id: 'b', pk: 'x', mail: 'm' })
    expect((await refusal(taken)).code).toBe(409)
    await container.item('a', 'x').delete()
    const free = await container.item('b', 'x').replace({ id: 'b', pk: 'x', mail: 'm' })
    expect(free.statusCode).toBe(200)
    expect((await container.items.create({ id: 'c', pk: 'x', mail: 'n' })).statusCode).toBe(201)
  })

  test('two gateways on one store hold one another’s unique keys, and those of writes in process', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    const { store } = interop
    const second = await startGateway({ store, keys: { readWrite: [KEY] }, port: 0 })
    const client = interop.connect({ endpoint: second.endpoint })
    try {
      const other = client.database(interop.database.id).container(container.id)
      const writes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 === 0 ? container : other).items.create({ id: `d${n}`, pk: 'x', mail: 'm' }),
        ),
      )
      expect(writes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const write of writes) {
        if (write.status === 'rejected') expect(write.reason).toMatchObject({ code: 409 })
      }
      const collection = store.database(interop.database.id).collection(container.id)
      const inProcess = collection.create({ id: 'p', pk: 'x', mail: 'm' } as DocumentBody)
      await expect(inProcess).rejects.toMatchObject({ code: 'ERR_UNIQUE_KEY', paths: ['/mail'] })
      await collection.create({ id: 'p', pk: 'x', mail: 'n' } as DocumentBody)
      const after = other.items.upsert({ id: 'q', pk: 'x', mail: 'n' })
      expect((await refusal(after)).code).toBe(409)
    } finally {
      await second.stop()
    }
  })

  test('the path of a unique key may have names in quotes', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/"a/b"/c'] }] },
    })
    await container.items.create({ id: '1', pk: 'x', 'a/b': { c: 1 } })
    await container.items.create({ id: '2', pk: 'x', 'a/b': { c: 2 }, a: { b: { c: 1 } } })
    const third = container.items.create({ id: '3', pk: 'x', 'a/b': { c: 1 } })
    expect((await refusal(third)).code).toBe(409)
  })

  test('what is missing counts as null', async () => {
    const container = await interop.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    })
    await container.items.create({ id: '1', pk: 'x' })
    expect((await refusal(container.items.create({ id: '2', pk: 'x', mail: null }))).code).toBe(409)
    expect((await container.items.create({ id: '3', pk: 'x', mail: 'null' })).statusCode).toBe(201)
  })

  test('more than ten unique keys, or sixteen paths of one, are 400', async () => {
    const paths = Array.from({ length: 17 }, (_, n) => `/p${n}`)
    for (const uniqueKeys of [paths.slice(0, 11).map((path) => ({ paths: [path] })), [{ paths }]]) {
      const body = {
        id: 'too-many',
        partitionKey: { paths: ['/pk'], kind: 'Hash' },
        uniqueKeyPolicy: { uniqueKeys },
      }
      expect(await statusOf(body)).toBe(400)
    }
  })

  test('the unique keys of a collection made in process are answered, and hold', async () => {
    const database = interop.store.database('interop')
    const uniqueKeys = [['/mail'], ['/a', '/b']]
    await database.createCollection({ id: 'unique-in-process', partitionKey: '/pk', uniqueKeys })
    const container = interop.database.container('unique-in-process')
    const { resource } = await container.read()
    expect(resource?.uniqueKeyPolicy).toEqual({
      uniqueKeys: uniqueKeys.map((paths) => ({ paths })),
    })
    await container.items.create({ id: '1', pk: 'x', mail: 'm' })
    expect((await refusal(container.items.create({ id: '2', pk: 'x', mail: 'm' }))).code).toBe(409)
  })
})
