import { request } from 'node:https'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { rawSocket, received, send, signedHeaders } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const WAIT = { 'a-im': 'Incremental feed', 'if-none-match': '*', 'x-tidemark-wait-ms': '30000' }

test('CF-12 a waiting read is answered when the change is there', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = started.gateway
  // From the position that a first read pinned, so that it does not matter which of the two is first.
  const headers = { ...WAIT, 'if-none-match': '"0"' }
  const waiting = send(endpoint, 'GET', DOCS, { headers })
  await started.store.database('db').collection('c').upsert({ id: 'a' })
  expect(await waiting).toMatchObject({ status: 200, json: { Documents: [{ id: 'a' }] } })
})

test('without the header a feed read never waits', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { 'x-tidemark-wait-ms': _, ...headers } = WAIT
  const answer = await send(started.gateway.endpoint, 'GET', DOCS, { headers })
  expect([answer.status, answer.headers.get('etag')]).toEqual([304, '"0"'])
})

test('a stop answers those who wait, and takes no more connections', async () => {
  await using started = await testGateway({ stopTimeoutMs: 30_000 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint, port } = started.gateway
  const waiting = send(endpoint, 'GET', DOCS, { headers: WAIT })
  // The wait has begun when the range is being watched; the stop may come at any time all the same.
  await send(endpoint, 'GET', '/dbs')
  await started.gateway.stop()
  expect((await waiting).status).toBe(304)
  await expect(rawSocket(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await started.gateway.stop()
})

test('a stop lets a request finish that is being sent', async () => {
  await using started = await testGateway({ stopTimeoutMs: 30_000 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const body = JSON.stringify({ id: 'a', pk: 'x' })
  const headers = Object.entries({
    ...signedHeaders('POST', DOCS),
    'x-ms-documentdb-partitionkey': '["x"]',
    'content-length': String(body.length),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = await rawSocket(started.gateway.port)
  socket.write(`POST ${DOCS} HTTP/1.1\r\nhost: a\r\n${headers.join('')}\r\n${body.slice(0, 5)}`)
  await send(started.gateway.endpoint, 'GET', '/dbs')
  const stopped = started.gateway.stop()
  socket.write(body.slice(5))
  expect(await received(socket)).toMatch(/^HTTP\/1.1 201 [^]*connection: close/i)
  await stopped
  expect(await started.store.database('db').collection('c').count()).toBe(1)
})

test('a stop ends what does not end by itself', async () => {
  await using started = await testGateway({ stopTimeoutMs: 50 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const headers = Object.entries(signedHeaders('POST', DOCS)).map(
    ([n, value]) => `${n}: ${value}\r\n`,
  )
  const socket = await rawSocket(started.gateway.port)
  socket.write(`POST ${DOCS} HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n${headers.join('')}\r\n{`)
  await send(started.gateway.endpoint, 'GET', '/dbs')
  await started.gateway.stop()
  expect(await received(socket)).toMatch(/^(HTTP\/1.1 503 |$)/)
})

test('TLS: https is served, and the account says so', async () => {
  await using started = await testGateway({ tls: LOCALHOST_TLS })
  const { endpoint } = started.gateway
  expect(endpoint).toMatch(/^https:/)
  const call = request(endpoint, {
    ca: LOCALHOST_TLS.cert,
    servername: 'localhost',
    headers: signedHeaders('GET', '/'),
  })
  call.end()
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  const text = (await answer.toArray()).join('')
  expect(answer.statusCode).toBe(200)
  expect(JSON.parse(text)).toMatchObject({
    writableLocations: [{ databaseAccountEndpoint: endpoint }],
  })
})
