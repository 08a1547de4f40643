import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idsOf, openInterop, pagesOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

describe('Account', () => {
  test('the account names itself and the address under which it was asked', async () => {
    const { resource } = await interop.client.getDatabaseAccount()
    const { endpoint } = interop.gateway
    expect(resource?.writableLocations[0]?.databaseAccountEndpoint).toBe(endpoint)
    expect(resource?.readableLocations[0]?.databaseAccountEndpoint).toBe(endpoint)
    expect(resource?.consistencyPolicy).toBe('Session')
    expect(resource?.enableMultipleWritableLocations).toBe(false)
  })

  test('the endpoints of the answer follow the Host header of the request', async () => {
    const other = interop.gateway.endpoint.replace('127.0.0.1', 'localhost')
    const client = interop.connect({ endpoint: other })
    const { resource } = await client.getDatabaseAccount()
    expect(resource?.writableLocations[0]?.databaseAccountEndpoint).toBe(other)
  })

  test('the account has an id that keeps the client from re-reading it before every call', async () => {
    const { json } = await interop.send({ path: '' })
    expect(json).toMatchObject({ id: expect.any(String), _self: expect.any(String) })
    expect(json?.['id']).not.toBe('localhost')
  })

  test('queryEngineConfiguration is a text that holds JSON, with what the service allows', async () => {
    const { json } = await interop.send({ path: '' })
    // QueryPlanRetrieverTests and QueryPartitionProviderTestInstance of azure-cosmos-dotnet-v3.
    expect(JSON.parse(json?.['queryEngineConfiguration'] as string)).toMatchObject({
      maxJoinsPerSqlQuery: 5,
      maxUdfRefPerSqlQuery: 10,
      sqlAllowAggregateFunctions: true,
      sqlAllowSubQuery: true,
      sqlAllowScalarSubQuery: true,
      sqlAllowLike: true,
      sqlAllowGroupByClause: true,
      sqlAllowTop: true,
      allowNewKeywords: true,
    })
  })

  test('write and read endpoints are known to the client after the first call', async () => {
    const client = interop.connect()
    await client.getDatabaseAccount()
    expect(await client.getWriteEndpoint()).toBe(interop.gateway.endpoint)
    expect(await client.getReadEndpoint()).toBe(interop.gateway.endpoint)
  })

  test('a connection string is enough to connect', async () => {
    const { endpoint } = interop.gateway
    const { CosmosClient } = await import('@azure/cosmos')
    const key = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
    const client = new CosmosClient(`AccountEndpoint=${endpoint};AccountKey=${key};`)
    expect((await client.getDatabaseAccount()).statusCode).toBe(200)
    client.dispose()
  })
})

describe('Databases', () => {
  test('create answers 201 with id, _rid, _self, _etag and _ts', async () => {
    const { statusCode, resource } = await interop.client.databases.create({ id: 'made' })
    expect(statusCode).toBe(201)
    expect(resource).toMatchObject({
      id: 'made',
      _rid: expect.stringMatching(/^[A-Za-z0-9+\-=]{8}$/),
      _etag: expect.stringMatching(/^"[^"]+"$/),
      _ts: expect.any(Number),
    })
    expect(resource).toMatchObject({ _self: `dbs/${String(resource?.['_rid'])}/` })
  })

  test('create of an id that exists is 409', async () => {
    await interop.client.databases.create({ id: 'twice' })
    expect((await refusal(interop.client.databases.create({ id: 'twice' }))).code).toBe(409)
  })

  test('createIfNotExists makes it once and reads it from then on', async () => {
    const first = await interop.client.databases.createIfNotExists({ id: 'maybe' })
    const second = await interop.client.databases.createIfNotExists({ id: 'maybe' })
    expect([first.statusCode, second.statusCode]).toEqual([201, 200])
    expect(second.resource?.['_rid']).toBe(first.resource?.['_rid'])
  })

  test('read gives what create gave', async () => {
    const { database, resource } = await interop.client.databases.create({ id: 'read' })
    const read = await database.read()
    expect(read.statusCode).toBe(200)
    expect(read.resource).toEqual(resource)
  })

  test('read of a database that is not there is 404', async () => {
    expect((await refusal(interop.client.database('none').read())).code).toBe(404)
  })

  test('readAll lists every database', async () => {
    await interop.client.databases.create({ id: 'listed' })
    const { resources } = await interop.client.databases.readAll().fetchAll()
    expect(idsOf(resources)).toEqual(expect.arrayContaining(['interop', 'listed']))
  })

  test('a query by id finds the one database', async () => {
    await interop.client.databases.create({ id: 'sought' })
    const query = {
      query: 'SELECT * FROM root r WHERE r.id=@id',
      parameters: [{ name: '@id', value: 'sought' }],
    }
    const { resources } = await interop.client.databases.query(query).fetchAll()
    expect(resources).toHaveLength(1)
    expect(resources[0]).toMatchObject({ id: 'sought' })
  })

  test('a query that nothing fits finds no database', async () => {
    const query = "SELECT * FROM root r WHERE r.id = 'nobody'"
    expect((await interop.client.databases.query(query).fetchAll()).resources).toEqual([])
  })

  test('readAll pages by max item count', async () => {
    for (const id of ['page-1', 'page-2', 'page-3']) await interop.client.databases.create({ id })
    const { sizes, items } = await pagesOf(interop.client.databases.readAll({ maxItemCount: 1 }))
    expect(Math.max(...sizes)).toBe(1)
    expect(idsOf(items)).toEqual(expect.arrayContaining(['page-1', 'page-2', 'page-3']))
  })

  test('delete answers 204, and the database and its containers are gone', async () => {
    const { database } = await interop.client.databases.create({ id: 'gone' })
    await database.containers.create({ id: 'inside' })
    expect((await database.delete()).statusCode).toBe(204)
    expect((await refusal(database.read())).code).toBe(404)
    expect((await refusal(database.container('inside').read())).code).toBe(404)
  })

  test('delete of a database that is not there is 404', async () => {
    expect((await refusal(interop.client.database('never').delete())).code).toBe(404)
  })

  test('a database made anew under the same name has another _rid and no containers', async () => {
    const first = await interop.client.databases.create({ id: 'again' })
    await first.database.containers.create({ id: 'old' })
    await first.database.delete()
    const second = await interop.client.databases.create({ id: 'again' })
    expect(second.resource?.['_rid']).not.toBe(first.resource?.['_rid'])
    expect((await second.database.containers.readAll().fetchAll()).resources).toEqual([])
  })

  test.each(['with spaces', 'ümläut', '数据库', 'a%b', "it's", 'q"uote', 'a+b&c=d'])(
    'the name %s goes through URL and signature',
    async (id) => {
      const { database } = await interop.client.databases.create({ id })
      expect((await database.read()).resource?.id).toBe(id)
      expect((await database.delete()).statusCode).toBe(204)
    },
  )

  test.each([{}, { id: '' }, { id: 5 }, { id: 'a/b' }, { id: 'a#b' }, { id: 'a?b' }, { id: 'a ' }])(
    'a database of body %j is 400',
    async (body) => {
      const answer = await interop.send({ method: 'POST', path: 'dbs', body })
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({ code: 'BadRequest', message: expect.any(String) })
    },
  )

  test('If-None-Match with the present etag is 304 without a body', async () => {
    const { resource } = await interop.database.read()
    const answer = await interop.send({
      path: 'dbs/interop',
      headers: { 'if-none-match': String(resource?._etag) },
    })
    expect([answer.status, answer.text]).toEqual([304, ''])
  })

  test('throughput given to a database is accepted', async () => {
    const made = await interop.client.databases.create({ id: 'offered', throughput: 400 })
    expect(made.statusCode).toBe(201)
  })
})
