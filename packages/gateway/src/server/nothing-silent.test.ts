import { expect, test } from 'vitest'
import { send, signedHeaders } from './raw-request.fixture.ts'
import { testGateway, type TestGateway } from './running-gateway.fixture.ts'

/* What the gateway cannot keep or read as it was asked is refused, and not kept or read as something else. */

const DOCS = '/dbs/db/colls/c/docs'
const KEY = { 'x-ms-documentdb-partitionkey': '["a"]' }
const FEED = { 'a-im': 'Incremental Feed' }

async function started(definition: object = { partitionKey: '/pk' }): Promise<TestGateway> {
  const gateway = await testGateway()
  await gateway.container({ id: 'c', ...definition })
  return gateway
}

function idsOf({ json }: { readonly json: unknown }): readonly string[] {
  const { Documents } = json as { Documents: readonly { id: string }[] }
  return Documents.map(({ id }) => id)
}

test.each([
  ['an exponent', '1e309'],
  ['a sign and a capital', '-1E+400'],
  ['zeros in the exponent', '1e0000309'],
  ['digits and an exponent', `1${'0'.repeat(249)}e99`],
  ['digits alone', '9'.repeat(310)],
])('a number that would be kept as null is 400: %s', async (_name, number) => {
  await using gateway = await started()
  const { endpoint } = gateway.gateway
  const body = `{"id":"x","pk":"a","list":[{"n":${number}}]}`
  const answer = await send(endpoint, 'POST', DOCS, { headers: KEY, body })
  expect(answer).toMatchObject({
    status: 400,
    json: { message: expect.stringMatching(/number/) },
  })
  expect((await send(endpoint, 'GET', `${DOCS}/x`, { headers: KEY })).status).toBe(404)
})

test('numbers that only look large are kept', async () => {
  await using gateway = await started()
  const kept = {
    id: 'x',
    pk: 'a',
    n: 1.7e308,
    small: 1e-300,
    text: '1e999',
    digits: '9'.repeat(400),
  }
  const { endpoint } = gateway.gateway
  const answer = await send(endpoint, 'POST', DOCS, { headers: KEY, body: kept })
  expect(answer).toMatchObject({ status: 201, json: kept })
})

test('bytes that are no UTF-8 are 400, not other characters', async () => {
  await using gateway = await started()
  const { endpoint } = gateway.gateway
  const bytes = Buffer.from('{"id":"x","pk":"a","text":"\xff"}', 'latin1')
  const headers = { ...signedHeaders('POST', DOCS), ...KEY }
  const url = `${endpoint.slice(0, -1)}${DOCS}`
  const answer = await fetch(url, { method: 'POST', headers, body: bytes })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ message: expect.stringContaining('UTF-8') })
  expect((await send(endpoint, 'GET', `${DOCS}/x`, { headers: KEY })).status).toBe(404)
})

test('the feed of half a surrogate pair has nothing of another half, though both have one EPK', async () => {
  await using gateway = await started()
  const { endpoint } = gateway.gateway
  for (const [id, pk] of Object.entries({ one: '\\ud800', two: '\\ud801', three: '\\ufffd' })) {
    const headers = { 'x-ms-documentdb-partitionkey': `["${pk}"]` }
    const body = `{"id":"${id}","pk":"${pk}"}`
    expect((await send(endpoint, 'POST', DOCS, { headers, body })).status).toBe(201)
    const feed = await send(endpoint, 'GET', DOCS, { headers: { ...FEED, ...headers } })
    expect(idsOf(feed)).toEqual([id])
  }
})

test('CF-7 a stretch with nothing for this reader is no 304: the read goes on until there is news or no more', async () => {
  await using gateway = await started()
  const { endpoint } = gateway.gateway
  // All have one EPK, so that pages of the first two are empty for a reader of the third.
  const keys = ['\\ud800', '\\ud801', '\\ufffd']
  for (const [index, pk] of keys.entries()) {
    const headers = { 'x-ms-documentdb-partitionkey': `["${pk}"]` }
    const body = `{"id":"${index}","pk":"${pk}"}`
    expect((await send(endpoint, 'POST', DOCS, { headers, body })).status).toBe(201)
  }
  const headers = {
    ...FEED,
    'x-ms-documentdb-partitionkey': '["\\ufffd"]',
    'x-ms-max-item-count': '1',
  }
  const feed = await send(endpoint, 'GET', DOCS, { headers })
  expect(feed.status).toBe(200)
  expect(idsOf(feed)).toEqual(['2'])
  const etag = feed.headers.get('etag') ?? ''
  const after = await send(endpoint, 'GET', DOCS, {
    headers: { ...headers, 'if-none-match': etag },
  })
  expect(after.status).toBe(304)
})

test('CF-5 an interval of keys that lies in several pkranges is no feed of the first one', async () => {
  await using gateway = await started({ partitionKey: '/pk', throughput: 20_000 })
  const { endpoint } = gateway.gateway
  const read = (from: string, to: string) => {
    const headers = { ...FEED, 'x-ms-start-epk': from, 'x-ms-end-epk': to }
    return send(endpoint, 'GET', DOCS, { headers })
  }
  const spanning = await read('', 'FF')
  expect(spanning.status).toBe(410)
  expect(spanning.headers.get('x-ms-substatus')).toBe('1002')
  expect((await read('', '05C1C0')).status).toBe(304)
})

test('a prefix of keys that lies in several pkranges is no feed of the first one', async () => {
  const partitionKey = { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 }
  await using gateway = await started({ partitionKey })
  const { endpoint } = gateway.gateway
  const collection = gateway.store.database('db').collection('c')
  for (let n = 0; n < 20; n++) await collection.create({ id: `d${n}`, a: 'A', b: n } as never)
  const headers = { ...FEED, 'x-ms-documentdb-partitionkey': '["A"]' }
  expect(idsOf(await send(endpoint, 'GET', DOCS, { headers }))).toHaveLength(20)
  const [range] = await collection.readFeedRanges()
  await collection.split(range?.id ?? '', { at: '14F53A0810CE6727EB1CD722D321216F20' })
  expect(await send(endpoint, 'GET', DOCS, { headers })).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining('partitionkeyrangeid') },
  })
  const parts = await Promise.all(
    (await collection.readFeedRanges()).map(({ id }) =>
      send(endpoint, 'GET', DOCS, {
        headers: { ...headers, 'x-ms-documentdb-partitionkeyrangeid': id ?? '' },
      }),
    ),
  )
  const ids = parts.map(idsOf)
  expect(ids.every(({ length }) => length > 0)).toBe(true)
  expect(new Set(ids.flat()).size).toBe(20)
})

test('a query that means another container of this name is 400 with substatus 1024', async () => {
  await using gateway = await started()
  const answer = await send(gateway.gateway.endpoint, 'POST', DOCS, {
    headers: {
      'x-ms-documentdb-isquery': 'true',
      'x-ms-cosmos-intended-collection-rid': 'AAAAAAAAAAA=',
    },
    body: { query: 'SELECT c.id FROM c' },
  })
  expect([answer.status, answer.headers.get('x-ms-substatus')]).toEqual([400, '1024'])
})
