import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { rawRequest, rawSocket, received, send } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const WAIT = { 'a-im': 'Incremental feed', 'if-none-match': '"0"', 'x-tidemark-wait-ms': '30000' }
const READ_ONLY_KEY = Buffer.from('a key that may only read, really').toString('base64')
const KEYS = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
/** Other addresses of this machine can be had without asking anybody there. */
const onLinux = test.runIf(process.platform === 'linux')

/** The status line that comes next. */
async function nextStatus(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString().split('\r\n')[0] ?? ''
}

async function sockets(port: number, count: number, from?: string): Promise<Socket[]> {
  return Promise.all(Array.from({ length: count }, () => rawSocket(port, from)))
}

/** A request that is being served until its body ends. */
function endless(key = TEST_KEY): string {
  const headers = { 'content-length': '9', 'x-ms-documentdb-isquery': 'true' }
  return `${rawRequest('POST', DOCS, { key, headers })}{`
}

test.each([
  ['no signature', 'GET /dbs HTTP/1.1\r\nhost: a\r\n\r\n', 401],
  ['a wrong signature', rawRequest('GET', '/dbs', { key: READ_ONLY_KEY }), 401],
  ['a host that is none', rawRequest('GET', '/dbs', { headers: { host: 'a b' } }), 400],
])(
  'a connection whose request has %s is closed with the answer',
  async (_what, request, status) => {
    await using started = await testGateway()
    const socket = await rawSocket(started.gateway.port)
    // The second would be answered if the connection were kept.
    socket.write(request + rawRequest('GET', '/dbs'))
    const answers = await received(socket)
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`])
    expect(answers).toMatch(/\r\nconnection: close\r\n/i)
  },
)

test('a connection whose requests are authorized is kept, whatever they are answered', async () => {
  await using started = await testGateway()
  const socket = await rawSocket(started.gateway.port)
  for (const [target, status] of [
    ['/dbs', 200],
    ['/dbs/none', 404],
    ['/nothing/here', 404],
    ['/dbs', 200],
  ] as const) {
    socket.write(rawRequest('GET', target))
    expect(await nextStatus(socket)).toMatch(`HTTP/1.1 ${status} `)
  }
  socket.destroy()
})

test('connections that send nothing keep nobody out, and end', async () => {
  await using started = await testGateway({ maxConnections: 8, headersTimeoutMs: 300 })
  const idle = await sockets(started.gateway.port, 20)
  const ends = idle.map((socket) => received(socket))
  expect((await send(started.gateway.endpoint, 'GET', '/dbs')).status).toBe(200)
  await Promise.all(ends)
})

test('with TLS, too, strangers give way and those who are known stay', async () => {
  await using started = await testGateway({ tls: LOCALHOST_TLS, maxConnections: 4 })
  const { port } = started.gateway
  const known = connectTls({
    port,
    host: '127.0.0.1',
    ca: LOCALHOST_TLS.cert,
    servername: 'localhost',
  })
  await once(known, 'secureConnect')
  known.write(rawRequest('GET', '/dbs'))
  expect(await nextStatus(known)).toBe('HTTP/1.1 200 OK')
  const strangers = await sockets(port, 12)
  // An address has 2 of the 4: each stranger ends the one before.
  await Promise.all(strangers.slice(0, 11).map((socket) => received(socket)))
  known.write(rawRequest('GET', '/dbs'))
  expect(await nextStatus(known)).toBe('HTTP/1.1 200 OK')
  for (const socket of [known, ...strangers]) socket.destroy()
})

test('reads that wait on one connection are bounded, and none goes on when it is cut off', async () => {
  await using started = await testGateway({ maxPipelinedRequests: 4, maxWaitingReads: 8 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint, port } = started.gateway
  const greedy = await rawSocket(port)
  greedy.write(rawRequest('GET', DOCS, { headers: WAIT }).repeat(5))
  expect(await received(greedy)).toBe('')
  // Those were all that one address may have: while one of them waited, one of these would be refused.
  const clients = await sockets(port, 4)
  const statuses = Promise.all(clients.map((socket) => nextStatus(socket)))
  for (const socket of clients) socket.write(rawRequest('GET', DOCS, { headers: WAIT }))
  const short = { ...WAIT, 'x-tidemark-wait-ms': '1' }
  await expect
    .poll(async () => (await send(endpoint, 'GET', DOCS, { headers: short })).status)
    .toBe(429)
  await started.store.database('db').collection('c').upsert({ id: 'a' })
  expect(new Set(await statuses)).toEqual(new Set(['HTTP/1.1 200 OK']))
  for (const socket of clients) socket.destroy()
  expect(started.failures).toEqual([])
})

test('waiting reads above their limit are 429 with a time to wait; others are served', async () => {
  await using started = await testGateway({ maxWaitingReads: 4 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = started.gateway
  const read = (headers: Record<string, string>) => send(endpoint, 'GET', DOCS, { headers })
  const waiting = [read(WAIT), read(WAIT)]
  const short = { ...WAIT, 'x-tidemark-wait-ms': '1' }
  await expect
    .poll(async () => {
      const { status, headers } = await read(short)
      return [status, headers.get('x-ms-substatus'), headers.get('x-ms-retry-after-ms')]
    })
    .toEqual([429, '3200', '1000'])
  expect((await read({ ...WAIT, 'x-tidemark-wait-ms': '0' })).status).toBe(304)
  await started.store.database('db').collection('c').upsert({ id: 'a' })
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200])
  expect((await read({ ...short, 'if-none-match': '*' })).status).toBe(304)
})

onLinux('one address cannot use up the requests that are served at once', async () => {
  await using started = await testGateway({ maxConcurrentRequests: 4 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint, port } = started.gateway
  const refused: string[] = []
  const busy = await sockets(port, 6, '127.0.0.2')
  for (const socket of busy) {
    socket.once('data', (bytes: Buffer) => refused.push(bytes.toString().slice(9, 12)))
    socket.write(endless())
  }
  await expect.poll(() => refused).toEqual(['429', '429', '429', '429'])
  expect((await send(endpoint, 'GET', '/dbs')).status).toBe(200)
  for (const socket of busy) socket.destroy()
})

onLinux(
  'a key that may only read cannot use them up either, from however many addresses',
  async () => {
    await using started = await testGateway({ keys: KEYS, maxConcurrentRequests: 8 })
    await started.container({ id: 'c', partitionKey: '/pk' })
    const { endpoint, port } = started.gateway
    const busy = (
      await Promise.all(['127.0.0.2', '127.0.0.3'].map((from) => sockets(port, 2, from)))
    ).flat()
    for (const socket of busy) socket.write(endless(READ_ONLY_KEY))
    const read = async (key: string): Promise<number> =>
      (await send(endpoint, 'GET', '/dbs', { key })).status
    await expect.poll(() => read(READ_ONLY_KEY)).toBe(429)
    expect(await read(TEST_KEY)).toBe(200)
    for (const socket of busy) socket.destroy()
    await expect.poll(() => read(READ_ONLY_KEY)).toBe(200)
  },
)

test.each([0, 1.5, Number.NaN, -1])('a share of %s is refused at once', async (maxClientShare) => {
  await expect(testGateway({ maxClientShare })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
})

test.each(['maxConnections', 'maxPipelinedRequests', 'maxWaitingReads', 'maxConcurrentRequests'])(
  'a limit %s that would bound nothing is refused at once',
  async (name) => {
    for (const value of [0, Number.NaN, Infinity, 1.5]) {
      const refused = testGateway({ [name]: value })
      await expect(refused).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    }
  },
)
