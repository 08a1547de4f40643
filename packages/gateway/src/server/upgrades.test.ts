import type { Duplex } from 'node:stream'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { UpgradeRequest } from '../platform/upgrades.ts'
import { rawRequest, rawSocket, received } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

const WEBSOCKET = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
const SWITCHED =
  'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'

function ask(headers: Record<string, string> = WEBSOCKET): string {
  return rawRequest('GET', '/dbs', { headers })
}

/** Says back what it gets. */
function echo({ stream, head }: UpgradeRequest): void {
  stream.write(SWITCHED)
  stream.write(head)
  stream.pipe(stream)
}

async function next(stream: Duplex): Promise<string> {
  const [bytes] = (await once(stream, 'data')) as [Buffer]
  return bytes.toString()
}

test('without a hook a request for a WebSocket is served as if it asked for none', async () => {
  await using started = await testGateway()
  const socket = await rawSocket(started.gateway.port)
  socket.write(ask())
  expect(await next(socket)).toMatch(/^HTTP\/1\.1 200 OK/)
  socket.destroy()
})

test('the hook gets the connection, and bytes that came with the request', async () => {
  await using started = await testGateway({ onUpgrade: echo })
  const socket = await rawSocket(started.gateway.port)
  socket.write(`${ask()}early`)
  let text = ''
  socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
  await expect.poll(() => text).toBe(`${SWITCHED}early`)
  socket.write('late')
  await expect.poll(() => text).toBe(`${SWITCHED}earlylate`)
  socket.destroy()
})

test('a client that offers HTTP/2 is served as before', async () => {
  await using started = await testGateway({ onUpgrade: echo })
  const socket = await rawSocket(started.gateway.port)
  socket.write(ask({ connection: 'upgrade, http2-settings', upgrade: 'h2c' }))
  expect(await next(socket)).toMatch(/^HTTP\/1\.1 200 OK/)
  socket.destroy()
})

test('a hook that throws ends that connection, and no other', async () => {
  await using started = await testGateway({
    onUpgrade: () => {
      throw new Error('no')
    },
  })
  const other = await rawSocket(started.gateway.port)
  const socket = await rawSocket(started.gateway.port)
  socket.write(ask())
  expect(await received(socket)).toBe('')
  other.write(rawRequest('GET', '/dbs'))
  expect(await next(other)).toMatch(/^HTTP\/1\.1 200 OK/)
  other.destroy()
})

test('connections that were handed over count, and give way as strangers do', async () => {
  await using started = await testGateway({ onUpgrade: echo, maxConnections: 4 })
  const upgraded = async () => {
    const socket = await rawSocket(started.gateway.port)
    socket.write(ask())
    expect(await next(socket)).toBe(SWITCHED)
    return socket
  }
  // One address has half of them.
  const [first, second] = [await upgraded(), await upgraded()]
  const ended = received(first)
  const third = await upgraded()
  await ended
  for (const socket of [second, third]) socket.destroy()
})

test('a connection whose client has shown a key there gives way to none', async () => {
  const upgrades: UpgradeRequest[] = []
  await using started = await testGateway({
    maxConnections: 4,
    onUpgrade: (upgrade) => {
      upgrades.push(upgrade)
      echo(upgrade)
    },
  })
  const upgraded = async () => {
    const socket = await rawSocket(started.gateway.port)
    socket.write(ask())
    expect(await next(socket)).toBe(SWITCHED)
    return socket
  }
  const first = await upgraded()
  upgrades[0]?.onKnown()
  const second = await upgraded()
  const ended = received(second)
  const third = await upgraded()
  await ended
  first.write('still here')
  expect(await next(first)).toBe('still here')
  for (const socket of [first, third]) socket.destroy()
})

test('a connection that fails after it was handed over does not end the gateway', async () => {
  const streams: Duplex[] = []
  await using started = await testGateway({ onUpgrade: ({ stream }) => streams.push(stream) })
  const socket = await rawSocket(started.gateway.port)
  socket.write(ask())
  await expect.poll(() => streams.length).toBe(1)
  streams[0]?.destroy(new Error('broken'))
  await received(socket)
  const other = await rawSocket(started.gateway.port)
  other.write(rawRequest('GET', '/dbs'))
  expect(await next(other)).toMatch(/^HTTP\/1\.1 200 OK/)
  other.destroy()
})

test('a stop ends what was handed over and is still open', async () => {
  await using started = await testGateway({ onUpgrade: echo, stopTimeoutMs: 50 })
  const socket = await rawSocket(started.gateway.port)
  socket.write(ask())
  expect(await next(socket)).toBe(SWITCHED)
  const ended = received(socket)
  await started.gateway.stop()
  await ended
})
