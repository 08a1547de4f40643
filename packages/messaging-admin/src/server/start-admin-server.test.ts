import { once } from 'node:events'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import {
  EMULATOR,
  entryOf,
  rawSocket,
  received,
  ROOT,
  runningAdmin,
  sasToken,
} from './running-admin.fixture.ts'

const QUEUE = entryOf('<QueueDescription/>')

test.each(['0.0.0.0', '::', '192.0.2.1', 'db.localhost', ''])(
  'plain http on %j is refused, and the message says what to do',
  async (host) => {
    await expect(runningAdmin({ host })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringMatching(/tls.*insecureHttp/),
    })
  },
)

test.each(['0.0.0.0', 'db.localhost'])(
  'the emulator’s key is refused on %s, whatever is encrypted or allowed',
  async (host) => {
    const open = { host, tls: LOCALHOST_TLS, insecureHttp: true }
    const refused = { code: 'ERR_INVALID_OPTION' }
    for (const policies of [[EMULATOR], [ROOT, { ...ROOT, keys: ['x', 'SAS_KEY_VALUE'] }]]) {
      await expect(runningAdmin({ ...open, policies })).rejects.toMatchObject(refused)
    }
  },
)

test('the emulator’s key cannot come later, either, where others can connect', async () => {
  await using admin = await runningAdmin({ host: '0.0.0.0', insecureHttp: true })
  expect(() => admin.server.replacePolicies([EMULATOR])).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
  )
  expect((await admin.send('GET', '$namespaceinfo')).status).toBe(200)
})

test('keys that are replaced by the emulator’s keep foreign pages out from then on', async () => {
  await using admin = await runningAdmin()
  const statusOf = async (key: string): Promise<string> => {
    const token = sasToken('https://localhost/', { key })
    const text = `GET /$namespaceinfo HTTP/1.1\r\nhost: evil.example\r\nauthorization: ${token}\r\nconnection: close\r\n\r\n`
    return (await received(await rawSocket(admin.server.port, text))).slice(9, 12)
  }
  expect(await statusOf(ROOT.keys[0]!)).toBe('200')
  admin.server.replacePolicies([EMULATOR])
  expect(await statusOf('SAS_KEY_VALUE')).toBe('403')
  expect(() => admin.server.replacePolicies([])).toThrow(/at least one key/)
  admin.server.replacePolicies([ROOT])
  expect(await statusOf(ROOT.keys[0]!)).toBe('200')
})

test.each([
  [{ port: 70_000 }, 'port must be'],
  [{ maxConcurrentRequests: 0 }, 'maxConcurrentRequests must be'],
  [{ stopTimeoutMs: -1 }, 'stopTimeoutMs must be'],
  [{ policies: [] }, 'at least one key'],
  [{ tls: { cert: 'x' } }, 'tls.key must be PEM text'],
  [{ insecurehttp: true }, 'did you mean insecureHttp'],
  [{ broker: {} }, 'broker must be a message broker'],
])('the options %j are refused', async (options, text) => {
  await expect(runningAdmin(options as never)).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
    message: expect.stringContaining(text),
  })
})

test('a port that another has is told', async () => {
  await using admin = await runningAdmin()
  await expect(runningAdmin({ port: admin.server.port })).rejects.toMatchObject({
    code: 'ERR_ADDRESS_UNAVAILABLE',
  })
})

test('the address is where the socket listens, the endpoint one that answers', async () => {
  await using everywhere = await runningAdmin({ host: '0.0.0.0', insecureHttp: true })
  const { server } = everywhere
  expect(server).toMatchObject({
    host: '0.0.0.0',
    address: `0.0.0.0:${server.port}`,
    endpoint: `http://127.0.0.1:${server.port}/`,
  })
  expect((await everywhere.send('GET', '$namespaceinfo')).status).toBe(200)
})

test('a stop lets what is being served finish', async () => {
  await using admin = await runningAdmin({ stopTimeoutMs: 60_000 })
  const head = `PUT /orders HTTP/1.1\r\nhost: a\r\nauthorization: ${sasToken('https://localhost/')}\r\n`
  const socket = await rawSocket(
    admin.server.port,
    `${head}content-length: ${QUEUE.length}\r\n\r\n${QUEUE.slice(0, 5)}`,
  )
  const end = received(socket)
  await admin.send('GET', '$namespaceinfo')
  const stopped = admin.server.stop()
  socket.write(QUEUE.slice(5))
  expect(await end).toMatch(/^HTTP\/1.1 201 [^]*connection: close/i)
  await stopped
  expect(await admin.broker.getQueue('orders')).toMatchObject({ name: 'orders' })
})

test('a stop does not wait for a connection that asks for nothing', async () => {
  await using admin = await runningAdmin({ stopTimeoutMs: 60_000 })
  const silent = await rawSocket(admin.server.port, '')
  // By its answer the server knows the connection that came before.
  await admin.send('GET', '/health', { token: undefined })
  const ended = received(silent)
  await admin.server.stop()
  await ended
})

test('a stop ends what does not end by itself', async () => {
  await using admin = await runningAdmin({ stopTimeoutMs: 50 })
  const head = `PUT /orders HTTP/1.1\r\nhost: a\r\nauthorization: ${sasToken('https://localhost/')}\r\n`
  const socket = await rawSocket(admin.server.port, `${head}content-length: 9\r\n\r\n<`)
  const closed = once(socket, 'close')
  socket.on('error', () => {})
  await admin.send('GET', '$namespaceinfo')
  await admin.server.stop()
  await closed
})
