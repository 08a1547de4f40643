import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { rawSocket, received, send, sendRaw, signedHeaders } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'

test.each([
  ['no HTTP', 'hello\r\n\r\n', 400],
  ['no such version', 'GET / HTTP/9.9\r\n\r\n', 400],
  [
    'two lengths',
    'POST /dbs HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx',
    400,
  ],
  [
    'a length and chunks',
    'POST /dbs HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    400,
  ],
  ['large headers', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`, 431],
  ['a bad host', 'GET /dbs HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n', 400],
  ['a bad path', 'GET /dbs/%ff HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 400],
  ['dots', 'GET /../../etc/passwd HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 401],
])('%s is answered as JSON and closes the connection', async (_name, text, status) => {
  await using started = await testGateway()
  const answer = await sendRaw(started.gateway.port, text)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
  expect(body).toMatchObject({ code: expect.any(String), message: expect.any(String) })
  expect((await send(started.gateway.endpoint, 'GET', '/dbs')).status).toBe(200)
  expect(started.failures).toEqual([])
})

test('a client that sends its headers byte by byte is cut off', async () => {
  await using started = await testGateway({ headersTimeoutMs: 100 })
  const socket = await rawSocket(started.gateway.port)
  socket.write('GET / HTTP/1.1\r\nhost: a\r\nx-slow: ')
  expect(await received(socket)).toMatch(/^HTTP\/1.1 408 /)
})

test('a body that never comes ends with 408, and holds nobody up', async () => {
  await using started = await testGateway({ requestTimeoutMs: 150 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const headers = Object.entries(signedHeaders('POST', DOCS)).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const socket = await rawSocket(started.gateway.port)
  socket.write(
    `POST ${DOCS} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n${headers.join('')}\r\n{"id"`,
  )
  expect(await received(socket)).toMatch(/^HTTP\/1.1 408 /)
  expect(started.failures).toEqual([])
})

test('a client that leaves in the middle of its body leaves nothing behind', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const headers = Object.entries(signedHeaders('POST', DOCS)).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  for (let n = 0; n < 5; n++) {
    const socket = await rawSocket(started.gateway.port)
    socket.write(
      `POST ${DOCS} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n${headers.join('')}\r\n{"id"`,
    )
    socket.destroy()
    await once(socket, 'close')
  }
  expect((await send(started.gateway.endpoint, 'GET', '/dbs')).status).toBe(200)
  expect(await started.store.database('db').collection('c').count()).toBe(0)
  expect(started.failures).toEqual([])
})

test('too large a body is 413, announced or not', async () => {
  await using started = await testGateway({ maxBodyBytes: 2000 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const body = { id: 'a', pk: 'x', text: 'y'.repeat(3000) }
  const { endpoint } = started.gateway
  expect((await send(endpoint, 'POST', DOCS, { body })).status).toBe(413)
  const streamed = await fetch(endpoint.replace(/\/$/, '') + DOCS, {
    method: 'POST',
    headers: signedHeaders('POST', DOCS),
    body: new Blob([JSON.stringify(body)]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect(streamed.status).toBe(413)
  await streamed.text()
  expect(await started.store.database('db').collection('c').count()).toBe(0)
})

test.each([
  ['no JSON', '{"id":', {}],
  ['an array', '[]', {}],
  ['a number', '1', {}],
  ['nothing', '', {}],
  ['no partition key', '{"id":"a"}', { 'x-ms-documentdb-partitionkey': '' }],
  ['a partition key that is no list', '{"id":"a"}', { 'x-ms-documentdb-partitionkey': '"x"' }],
  ['a partition key of two', '{"id":"a"}', { 'x-ms-documentdb-partitionkey': '["x","y"]' }],
  ['no id', '{"pk":"x"}', {}],
  ['an id with a slash', '{"id":"a/b","pk":"x"}', {}],
])('a create with %s is 400', async (_name, body, headers) => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { status, json } = await send(started.gateway.endpoint, 'POST', DOCS, {
    body,
    headers: { 'x-ms-documentdb-partitionkey': '["x"]', ...headers },
  })
  expect([status, json]).toMatchObject([400, { code: 'BadRequest' }])
  expect(started.failures).toEqual([])
})

test('an unknown path is 404, a known one with another verb 405', async () => {
  await using started = await testGateway()
  const { endpoint } = started.gateway
  expect((await send(endpoint, 'GET', '/nothing/here')).status).toBe(404)
  expect((await send(endpoint, 'PATCH', '/dbs')).status).toBe(405)
  expect((await send(endpoint, 'DELETE', '/')).status).toBe(405)
})

test('above the limit of requests at once there is 429 with a time to wait', async () => {
  await using started = await testGateway({ maxConcurrentRequests: 1 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint, port } = started.gateway
  const wait = { 'a-im': 'Incremental feed', 'if-none-match': '*', 'x-tidemark-wait-ms': '30000' }
  const waiting = [send(endpoint, 'GET', DOCS, { headers: wait })]
  const headers = Object.entries(signedHeaders('POST', DOCS)).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  // One that only waits is in nobody's way; before it waits it is, and this request is refused and sent again.
  let socket: Socket | undefined
  await expect
    .poll(async () => {
      if (socket === undefined) {
        const opened = await rawSocket(port)
        socket = opened.once('data', () => {
          opened.destroy()
          socket = undefined
        })
        opened.write(
          `POST ${DOCS} HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n${headers.join('')}\r\n{`,
        )
      }
      const refused = await send(endpoint, 'GET', '/dbs')
      return [refused.status, refused.headers.get('x-ms-retry-after-ms')]
    })
    .toEqual([429, '50'])
  socket?.destroy()
  await expect.poll(async () => (await send(endpoint, 'GET', '/dbs')).status).toBe(200)
  await started.gateway.stop()
  expect((await Promise.all(waiting))[0]?.status).toBe(304)
})

test('a wait that is longer than a request may take is refused at once', async () => {
  const refused = testGateway({ requestTimeoutMs: 1000, maxWaitMs: 1000 })
  await expect(refused).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
})

test('a client that does not take its answer is cut off when its time is over', async () => {
  await using started = await testGateway({ requestTimeoutMs: 400, stopTimeoutMs: 30_000 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const collection = started.store.database('db').collection('c')
  const text = '\u20ac'.repeat(600_000)
  for (let n = 0; n < 7; n++) await collection.upsert({ id: `d${n}`, text } as never)
  const headers = Object.entries({ ...signedHeaders('GET', DOCS), 'a-im': 'Incremental feed' })
  const socket = await rawSocket(started.gateway.port)
  socket.pause()
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${DOCS} HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`)
  await send(started.gateway.endpoint, 'GET', '/dbs')
  // Would wait for half a minute if the answer could hold it up.
  await started.gateway.stop()
  const answer = received(socket)
  socket.resume()
  expect((await answer).length).toBeLessThan(7 * 600_000)
  expect(started.failures).toEqual([])
})

test('what nobody foresaw is a 500 that shows nothing, is reported once, and ends nothing', async () => {
  await using started = await testGateway()
  const { endpoint } = started.gateway
  started.store.listDatabases = () => {
    throw new TypeError('the secret of the house')
  }
  const answer = await send(endpoint, 'GET', '/dbs')
  expect(answer).toMatchObject({ status: 500, json: { code: 'InternalServerError' } })
  expect(JSON.stringify(answer.json)).not.toContain('secret')
  expect(started.failures).toMatchObject([
    { method: 'GET', path: '/dbs', activityId: answer.headers.get('x-ms-activity-id') },
  ])
  expect((await send(endpoint, 'GET', '/')).status).toBe(200)
})

test('a store that was closed is 503, and says so', async () => {
  await using started = await testGateway()
  await started.store.close()
  const answer = await send(started.gateway.endpoint, 'GET', '/dbs')
  expect(answer).toMatchObject({ status: 503, json: { code: 'ServiceUnavailable' } })
})
