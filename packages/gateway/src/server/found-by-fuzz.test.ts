import { expect, test } from 'vitest'
import { send, sendRaw } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

/* Requests that `npm run fuzz` found answered as none may be. */

const DOCS = '/dbs/db/colls/c/docs'

test.each([
  ['no host', 'GET /dbs HTTP/1.1\r\n\r\n', 400],
  ['an expectation', 'GET /dbs HTTP/1.1\r\nhost: a\r\nexpect: the impossible\r\n\r\n', 417],
])(
  '%s is refused by us, with JSON, and not by Node without a word',
  async (_name, text, status) => {
    await using started = await testGateway()
    const answer = await sendRaw(started.gateway.port, text)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
    expect(body).toMatchObject({ code: expect.any(String), message: expect.any(String) })
  },
)

const DEEP = `${'['.repeat(50_000)}${']'.repeat(50_000)}`

test.each([
  [
    'a query',
    'POST',
    DOCS,
    `{"query":"SELECT * FROM c","parameters":[{"name":"@p","value":${DEEP}}]}`,
  ],
  ['an id', 'PUT', `${DOCS}/a`, `{"pk":"x","id":${DEEP}}`],
  [
    'a document',
    'POST',
    DOCS,
    `{"id":"a","pk":"x","text":${JSON.stringify('"]]\\')},"deep":${DEEP}}`,
  ],
])('%s that is nested without end is 400', async (_name, method, path, body) => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const isQuery = body.includes('SELECT')
  const answer = await send(started.gateway.endpoint, method, path, {
    headers: {
      'x-ms-documentdb-partitionkey': '["x"]',
      ...(isQuery && { 'x-ms-documentdb-isquery': 'true' }),
    },
    body,
  })
  expect(answer).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining('nested') },
  })
  expect(started.failures).toEqual([])
})

test('deep is what is nested, not what is long or stands in a text', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const document = {
    id: 'a',
    pk: 'x',
    wide: Array.from({ length: 3000 }, () => []),
    text: '[{"\\'.repeat(3000),
  }
  expect((await container.items.create(document)).statusCode).toBe(201)
  expect((await container.item('a', 'x').read()).resource).toMatchObject(document)
})

test('an id in bulk that is an object without a text of its own is refused, and only that operation', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const upsert = (id: string): string =>
    `{"operationType":"Upsert","partitionKey":"[\\"x\\"]","resourceBody":{"id":${id},"pk":"x"}}`
  const answer = await send(started.gateway.endpoint, 'POST', DOCS, {
    headers: {
      'x-ms-cosmos-is-batch-request': 'true',
      'x-ms-cosmos-batch-atomic': 'false',
      'x-ms-cosmos-batch-continue-on-error': 'true',
      'x-ms-documentdb-partitionkeyrangeid': '0',
    },
    body: `[${upsert('{"toString":1}')},${upsert('"a"')}]`,
  })
  expect(answer).toMatchObject({ status: 207, json: [{ statusCode: 400 }, { statusCode: 201 }] })
  expect(started.failures).toEqual([])
})

test.each([
  '{"op":"incr","path":"/n","value":{"toString":1}}',
  '{"op":{"toString":1},"path":"/n","value":1}',
  '{"op":"set","path":{"toString":1},"value":1}',
  '{"op":"move","path":"/n","from":{"toString":1}}',
  `{"op":"incr","path":"/n","value":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
])('a patch that cannot even be shown is 400: %.50s', async (operation) => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x', n: 1 })
  const answer = await send(started.gateway.endpoint, 'PATCH', `${DOCS}/a`, {
    headers: { 'x-ms-documentdb-partitionkey': '["x"]' },
    body: `[${operation}]`,
  })
  expect(answer).toMatchObject({ status: 400, json: { message: expect.any(String) } })
  expect((await container.item('a', 'x').read()).resource).toMatchObject({ n: 1 })
  expect(started.failures).toEqual([])
})
