import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import type { ServedRequest } from './gateway-options.ts'
import { shownPath } from './request-report.ts'
import { rawRequest, rawSocket, received, send, sendRaw } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

test('each request is told of once, whatever it is answered, and nothing secret is in it', async () => {
  const told: ServedRequest[] = []
  await using started = await testGateway({ onRequest: (request) => told.push(request) })
  const { endpoint, port } = started.gateway
  const secret = { id: 'a', pk: 'x', text: 'of the house' }
  await started.container({ id: 'c', partitionKey: '/pk' })
  told.length = 0
  const headers = { 'x-ms-documentdb-partitionkey': '["x"]' }
  const made = await send(endpoint, 'POST', '/dbs/db/colls/c/docs', { headers, body: secret })
  const read = await send(endpoint, 'GET', '/dbs/db/colls/c/docs/a?of=the+house', { headers })
  await sendRaw(port, 'GET /dbs HTTP/1.1\r\nhost: localhost\r\n\r\n')
  expect(told).toMatchObject([
    { method: 'POST', path: '/dbs/db/colls/c/docs', status: 201 },
    {
      method: 'GET',
      path: '/dbs/db/colls/c/docs/a',
      status: 200,
      bytes: Number(read.headers.get('content-length')),
      activityId: read.headers.get('x-ms-activity-id'),
      address: '127.0.0.1',
    },
    { method: 'GET', path: '/dbs', status: 401 },
  ])
  expect(told[0]?.activityId).toBe(made.headers.get('x-ms-activity-id'))
  const text = JSON.stringify(told)
  for (const hidden of [TEST_KEY, 'type%3D', 'of the house', 'of=the']) {
    expect(text).not.toContain(hidden)
  }
})

test('the time is when it came, the duration until it was answered, by the clock of the gateway', async () => {
  const clock = new SimulatedClock({ startWallMs: Date.now() })
  const told: ServedRequest[] = []
  await using started = await testGateway({ clock, onRequest: (request) => told.push(request) })
  const listDatabases = started.store.listDatabases.bind(started.store)
  started.store.listDatabases = async () => {
    await clock.advance(250)
    return listDatabases()
  }
  const atMs = clock.wallMs()
  await send(started.gateway.endpoint, 'GET', '/dbs')
  expect(told).toMatchObject([{ atMs, durationMs: 250 }])
})

test('large answers count all their bytes, an answer that nobody took those that were sent', async () => {
  const told: ServedRequest[] = []
  await using started = await testGateway({
    requestTimeoutMs: 1_500,
    onRequest: (request) => told.push(request),
  })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  for (let n = 0; n < 12; n++) {
    await container.items.create({ id: `d${n}`, pk: 'x', text: 'x'.repeat(1_000_000) })
  }
  told.length = 0
  const target = '/dbs/db/colls/c/docs'
  const headers = { 'a-im': 'Incremental feed' }
  const answer = await send(started.gateway.endpoint, 'GET', target, { headers })
  expect(told).toMatchObject([{ status: 200, bytes: JSON.stringify(answer.json).length }])
  const socket = await rawSocket(started.gateway.port)
  socket.pause()
  socket.write(rawRequest('GET', target, { headers }).repeat(4))
  await expect.poll(() => told.length, { timeout: 15_000 }).toBe(5)
  expect(told.at(-1)?.bytes).toBeLessThan(told[0]!.bytes)
  const ended = received(socket)
  socket.resume()
  await ended
})

test('a client that left in the midst of its request is 499', async () => {
  const told: ServedRequest[] = []
  await using started = await testGateway({ onRequest: (request) => told.push(request) })
  const socket = await rawSocket(started.gateway.port)
  socket.write(`${rawRequest('POST', '/dbs', { headers: { 'content-length': '9' } })}{`)
  await send(started.gateway.endpoint, 'GET', '/dbs')
  socket.destroy()
  await expect.poll(() => told).toMatchObject([{ status: 200 }, { status: 499, bytes: 0 }])
})

test('what is told can go to a terminal: a path is printable ASCII of bounded length', () => {
  expect(shownPath('/dbs/a%20b?query=1')).toBe('/dbs/a%20b')
  expect(shownPath('/dbs/\x9b31m\x1b[2J\r\n\x7fé')).toBe('/dbs/%9B31m%1B[2J%0D%0A%7F%E9')
  expect(shownPath(`/dbs/${'a'.repeat(5000)}`)).toMatch(/^\/dbs\/a{1992}\.\.\.$/)
})

test('a log that fails ends nothing', async () => {
  await using started = await testGateway({
    onRequest: () => {
      throw new Error('no room')
    },
  })
  const { endpoint } = started.gateway
  expect((await send(endpoint, 'GET', '/dbs')).status).toBe(200)
  expect((await send(endpoint, 'GET', '/dbs')).status).toBe(200)
  expect(started.failures).toEqual([])
})
