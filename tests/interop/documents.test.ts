import type { Container } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, refusal, type Interop } from './interop.fixture.ts'
import type { WireRequest } from './signed-request.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
})
beforeEach(async () => {
  container = await interop.container()
})
afterAll(() => interop.close())

interface Doc {
  readonly id: string
  readonly pk?: unknown
  readonly n?: number
  readonly _etag?: string
  readonly _rid?: string
  readonly _self?: string
  readonly _ts?: number
}

const ifMatch = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } })
const ifNoneMatch = (condition: string) => ({ accessCondition: { type: 'IfNoneMatch', condition } })

/** POST of a body that the client would not send. */
const post = (body: unknown, headers: Readonly<Record<string, string>>) =>
  interop.send({ method: 'POST', path: `${pathOf(container)}/docs`, headers, body })

const X = { 'x-ms-documentdb-partitionkey': '["x"]' }

describe('Documents: create', () => {
  test('ST-2 answers 201 with the document and its system properties', async () => {
    const { statusCode, resource } = await container.items.create({ id: 'a', pk: 'x', n: 1 })
    expect(statusCode).toBe(201)
    expect(resource).toMatchObject({
      id: 'a',
      pk: 'x',
      n: 1,
      _rid: expect.any(String),
      _self: expect.stringMatching(/^dbs\/[^/]+\/colls\/[^/]+\/docs\/[^/]+\/$/),
      _etag: expect.stringMatching(/^"[^"]+"$/),
      _ts: expect.any(Number),
      _attachments: 'attachments/',
    })
    const { _rid, _self } = resource as unknown as Required<Doc>
    expect(Buffer.from(_rid.replaceAll('-', '/'), 'base64')).toHaveLength(16)
    expect(_self).toContain(`/docs/${_rid}/`)
  })

  test('ST-3 an id that exists in the partition is 409', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    expect((await refusal(container.items.create({ id: 'a', pk: 'x' }))).code).toBe(409)
  })

  test('the client makes an id where there is none', async () => {
    const { resource } = await container.items.create<Omit<Doc, 'id'>>({ pk: 'x' })
    expect((resource as unknown as Doc).id).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('without an id and with automatic ids off it is 400', async () => {
    const refused = container.items.create({ pk: 'x' }, { disableAutomaticIdGeneration: true })
    expect((await refusal(refused)).code).toBe(400)
  })

  test('Prefer: return=minimal answers without the document, with its etag', async () => {
    const { status, text, headers } = await post(
      { id: 'a', pk: 'x' },
      { ...X, prefer: 'return=minimal' },
    )
    expect([status, text]).toEqual([201, ''])
    expect(headers.get('etag')).toMatch(/^"[^"]+"$/)
  })

  test('a document of more than 2 MiB is 413', async () => {
    const big = 'x'.repeat(2 * 1024 * 1024)
    const refused = await refusal(container.items.create({ id: 'a', pk: 'x', big }))
    expect(refused.code).toBe(413)
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
  })

  test.each([
    ['no id', { pk: 'x' }],
    ['an empty id', { id: '', pk: 'x' }],
    ['a number as id', { id: 5, pk: 'x' }],
    ['null as id', { id: null, pk: 'x' }],
    ['a slash in the id', { id: 'a/b', pk: 'x' }],
    ['a backslash in the id', { id: 'a\\b', pk: 'x' }],
    ['a number sign in the id', { id: 'a#b', pk: 'x' }],
    ['an id of 256 characters', { id: 'i'.repeat(256), pk: 'x' }],
    ['an array', []],
    ['a text', '"text"'],
    ['null', 'null'],
    ['no JSON', '{"id":'],
  ])('a body with %s is 400', async (_, body) => {
    const { status, json } = await post(body, X)
    expect(status).toBe(400)
    expect(json).toMatchObject({ code: 'BadRequest', message: expect.any(String) })
  })

  test('a partition key in the header other than in the body is 400 with substatus 1001', async () => {
    const { status, headers } = await post({ id: 'a', pk: 'y' }, X)
    expect([status, headers.get('x-ms-substatus')]).toEqual([400, '1001'])
    expect((await container.item('a', 'y').read()).statusCode).toBe(404)
  })

  test('a request without partition key is 400', async () => {
    expect((await post({ id: 'a', pk: 'x' }, {})).status).toBe(400)
  })

  test.each(['x', '{"a":1}', '["x"', '[1e400]', '["x","y"]', '[["x"]]'])(
    'partition key header %s is 400',
    async (value) => {
      const headers = { 'x-ms-documentdb-partitionkey': value }
      expect((await post({ id: 'a', pk: 'x' }, headers)).status).toBe(400)
    },
  )

  test('a create in a container that is not there is 404', async () => {
    const nowhere = interop.database.container('nowhere')
    expect((await refusal(nowhere.items.upsert({ id: 'a', pk: 'x' }))).code).toBe(404)
  })
})

describe('Documents: read', () => {
  test('answers 200 with the document and its etag', async () => {
    const created = await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const read = await container.item('a', 'x').read()
    expect(read.statusCode).toBe(200)
    expect(read.resource).toEqual(created.resource)
    expect(read.etag).toBe(created.resource?._etag)
  })

  test('of a document that is not there is 404 without throwing', async () => {
    const { statusCode, resource } = await container.item('none', 'x').read()
    expect([statusCode, resource]).toEqual([404, undefined])
  })

  test('If-None-Match with the present etag is 304', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const read = await container.item('a', 'x').read(ifNoneMatch(resource?._etag ?? ''))
    expect(read.statusCode).toBe(304)
  })

  test('If-None-Match with an old etag is 200', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    await container.items.upsert({ id: 'a', pk: 'x', n: 2 })
    const read = await container.item('a', 'x').read<Doc>(ifNoneMatch(resource?._etag ?? ''))
    expect([read.statusCode, read.resource?.n]).toEqual([200, 2])
  })

  test('ids of lists and of other kinds are 404, with a JSON body', async () => {
    for (const path of ['dbs/interop/nothing', 'nothing', `${pathOf(container)}/docs/a/b/c`]) {
      const { status, json } = await interop.send({ path })
      expect([status, json?.['code']]).toEqual([404, 'NotFound'])
    }
  })

  test('an unknown verb on a document is 405', async () => {
    const path = `${pathOf(container)}/docs/a`
    const { status, json } = await interop.send({ method: 'POST', path, headers: X, body: {} })
    expect(status).toBe(405)
    expect(json).toMatchObject({ message: expect.any(String) })
  })
})

describe('Documents: upsert', () => {
  test('answers 201 for a new document and 200 for one that was there', async () => {
    const first = await container.items.upsert({ id: 'a', pk: 'x', n: 1 })
    const second = await container.items.upsert<Doc>({ id: 'a', pk: 'x', n: 2 })
    expect([first.statusCode, second.statusCode]).toEqual([201, 200])
    expect(second.resource).toMatchObject({ n: 2 })
  })

  test('If-Match with an old etag is 412 and changes nothing', async () => {
    await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const refused = container.items.upsert({ id: 'a', pk: 'x', n: 2 }, ifMatch('"old"'))
    expect((await refusal(refused)).code).toBe(412)
    expect((await container.item('a', 'x').read<Doc>()).resource?.n).toBe(1)
  })

  test('If-Match with the present etag is 200', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const options = ifMatch(resource?._etag ?? '')
    expect((await container.items.upsert({ id: 'a', pk: 'x', n: 2 }, options)).statusCode).toBe(200)
  })
})

describe('Documents: replace', () => {
  test('answers 200 with the new document', async () => {
    await container.items.create({ id: 'a', pk: 'x', n: 1 })
    const replaced = await container.item('a', 'x').replace<Doc>({ id: 'a', pk: 'x', n: 2 })
    expect([replaced.statusCode, replaced.resource?.n]).toEqual([200, 2])
    expect((await container.item('a', 'x').read<Doc>()).resource?.n).toBe(2)
  })

  test('of a document that is not there is 404', async () => {
    const refused = container.item('none', 'x').replace({ id: 'none', pk: 'x' })
    expect((await refusal(refused)).code).toBe(404)
  })

  test('with another id in the body is 400', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const refused = container.item('a', 'x').replace({ id: 'b', pk: 'x' })
    expect((await refusal(refused)).code).toBe(400)
  })

  test('with another partition key in the body is 400', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const refused = container.item('a', 'x').replace({ id: 'a', pk: 'y' })
    expect((await refusal(refused)).code).toBe(400)
    expect((await container.item('a', 'y').read()).statusCode).toBe(404)
  })

  test('If-Match with the present etag is 200, with an old one 412', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const item = container.item('a', 'x')
    const etag = resource?._etag ?? ''
    expect((await item.replace({ id: 'a', pk: 'x', n: 1 }, ifMatch(etag))).statusCode).toBe(200)
    expect((await refusal(item.replace({ id: 'a', pk: 'x', n: 2 }, ifMatch(etag)))).code).toBe(412)
    expect((await item.read<Doc>()).resource?.n).toBe(1)
  })

  test('If-Match * is met by any version', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const replaced = await container.item('a', 'x').replace({ id: 'a', pk: 'x' }, ifMatch('*'))
    expect(replaced.statusCode).toBe(200)
  })

  test('an empty If-Match is none, as in the service', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const { statusCode } = await container.item('a', 'x').replace({ id: 'a', pk: 'x' }, ifMatch(''))
    expect(statusCode).toBe(200)
    const answer = await interop.send({
      method: 'PUT',
      path: `${pathOf(container)}/docs/a`,
      headers: { 'x-ms-documentdb-partitionkey': '["x"]', 'if-match': '' },
      body: { id: 'a', pk: 'x', n: 2 },
    })
    expect(answer.status).toBe(200)
  })
})

describe('Documents: delete', () => {
  test('answers 204, and the document is gone', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const { statusCode } = await container.item('a', 'x').delete()
    expect(statusCode).toBe(204)
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
  })

  test('of a document that is not there is 404', async () => {
    expect((await refusal(container.item('none', 'x').delete())).code).toBe(404)
  })

  test('If-Match with an old etag is 412 and deletes nothing', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const item = container.item('a', 'x')
    expect((await refusal(item.delete(ifMatch('"old"')))).code).toBe(412)
    expect((await item.read()).statusCode).toBe(200)
    expect((await item.delete(ifMatch(resource?._etag ?? ''))).statusCode).toBe(204)
  })
})

describe('Delete by partition key', () => {
  test('removes all documents of the value and of no other', async () => {
    for (const id of ['a', 'b', 'c']) await container.items.create({ id, pk: 'x' })
    await container.items.create({ id: 'a', pk: 'y' })
    const { code, statusCode } = (await container.deleteAllItemsForPartitionKey(
      'x',
    )) as unknown as {
      code?: number
      statusCode?: number
    }
    expect(statusCode ?? code).toBe(200)
    const { resources } = await container.items.readAll<Doc>().fetchAll()
    expect(resources.map(({ pk }) => pk)).toEqual(['y'])
  })

  test('removes by a hierarchical value', async () => {
    const partitionKey = { paths: ['/t', '/u'], version: 2, kind: 'MultiHash' as never }
    const deep = await interop.container({ partitionKey })
    await deep.items.create({ id: 'a', t: '1', u: '1' })
    await deep.items.create({ id: 'a', t: '1', u: '2' })
    await deep.deleteAllItemsForPartitionKey(['1', '1'])
    expect((await deep.items.readAll().fetchAll()).resources).toHaveLength(1)
  })

  test('of a value without documents is no error', async () => {
    await expect(container.deleteAllItemsForPartitionKey('none')).resolves.toBeDefined()
  })

  test('without partition key is 400', async () => {
    const path = `${pathOf(container)}/operations/partitionkeydelete`
    expect((await interop.send({ method: 'POST', path })).status).toBe(400)
  })
})

describe('System properties in the text of a body', () => {
  const forged = (id: string): string =>
    `{"_ts":1,"_etag":"x","id":"${id}","_lsn":7,"pk":"x","n":1,"_rid":"x","_ts":2,"_etag":"y"}`
  const key = { 'x-ms-documentdb-partitionkey': '["x"]' }
  const batch = { ...key, 'x-ms-cosmos-is-batch-request': 'true' }
  const operation = (id: string): string =>
    `{"operationType":"Upsert","partitionKey":"[\\"x\\"]","resourceBody":${forged(id)}}`

  test.each([
    [
      'a create',
      (docs: string): WireRequest => ({
        method: 'POST',
        path: docs,
        headers: key,
        body: forged('a'),
      }),
    ],
    [
      'an upsert',
      (docs: string): WireRequest => ({
        method: 'POST',
        path: docs,
        headers: { ...key, 'x-ms-documentdb-is-upsert': 'true' },
        body: forged('a'),
      }),
    ],
    [
      'a replace',
      (docs: string): WireRequest => ({
        method: 'PUT',
        path: `${docs}/a`,
        headers: key,
        body: forged('a'),
      }),
    ],
    [
      'a batch',
      (docs: string): WireRequest => ({
        method: 'POST',
        path: docs,
        headers: { ...batch, 'x-ms-cosmos-batch-atomic': 'true' },
        body: `[${operation('a')}]`,
      }),
    ],
    [
      'a bulk request',
      (docs: string): WireRequest => ({
        method: 'POST',
        path: docs,
        headers: {
          'x-ms-cosmos-is-batch-request': 'true',
          'x-ms-cosmos-batch-atomic': 'false',
          'x-ms-documentdb-partitionkeyrangeid': '0',
        },
        body: `[${operation('a')}]`,
      }),
    ],
  ])('ST-2 of %s never count, also when they come twice', async (what, request) => {
    const docs = `${pathOf(container)}/docs`
    if (what === 'a replace') await container.items.create({ id: 'a', pk: 'x' })
    const { status } = await interop.send(request(docs))
    expect(status).toBeLessThan(300)
    const read = await interop.send({ path: `${docs}/a`, headers: key })
    const feed = await interop.send({ path: docs, headers: { 'a-im': 'Incremental feed' } })
    for (const text of [read.text, feed.text]) {
      for (const name of ['_rid', '_self', '_etag', '_ts']) {
        // Once around the list of a feed, and once in the document.
        const times = text.split(`"${name}":`).length - 1
        expect([name, times]).toEqual([name, text === feed.text && name === '_rid' ? 2 : 1])
      }
      expect(text).not.toContain('"_etag":"y"')
      expect(text).toContain('"n":1')
    }
    expect(read.json?.['_etag']).toBe(read.headers.get('etag'))
  })
})
