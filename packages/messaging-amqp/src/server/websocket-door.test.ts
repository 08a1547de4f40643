import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket, type ClientOptions } from 'ws'
import { webSocketDoor } from './websocket-door.ts'

const PROTOCOLS = ['other', 'AMQPWSB10']
const PATH = '/$servicebus/websocket'

let server: Server
let port: number
let accepted: { readonly stream: Duplex; readonly address: string }[]
let isForLoopbackOnly: boolean

beforeEach(async () => {
  accepted = []
  isForLoopbackOnly = true
  const door = webSocketDoor({
    accept: (stream, { address }) => accepted.push({ stream, address }),
    isForLoopbackOnly: () => isForLoopbackOnly,
  })
  server = createServer().on('upgrade', (request, stream, head) => door({ request, stream, head }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  for (const { stream } of accepted) stream.destroy()
  server.close()
})

function socketTo(path: string, protocols = PROTOCOLS, options: ClientOptions = {}): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, options)
}

/** The status of the answer; 101: it is open. */
async function statusOf(socket: WebSocket): Promise<number | undefined> {
  return new Promise((resolve) => {
    socket.on('open', () => resolve(101))
    socket.on('unexpected-response', (_request, { statusCode }) => {
      resolve(statusCode)
      socket.terminate()
    })
    socket.on('error', () => {})
  })
}

test('a client of the sub-protocol is handed over with its address, and bytes go both ways', async () => {
  const socket = socketTo(`${PATH}?a=b`)
  expect(await statusOf(socket)).toBe(101)
  expect(socket.protocol).toBe('AMQPWSB10')
  expect(socket.extensions).toBe('')
  const [{ stream, address } = {}] = accepted
  expect(address).toBe('127.0.0.1')
  stream?.pipe(stream)
  socket.send('AMQP')
  const [data] = (await once(socket, 'message')) as [Buffer, boolean]
  expect(data.toString()).toBe('AMQP')
  socket.close()
  await once(stream as Duplex, 'close')
})

test.each([
  ['another path', '/', PROTOCOLS, {}, 404],
  ['a path of the server', '/dbs', PROTOCOLS, {}, 404],
  ['another sub-protocol', PATH, ['mqtt'], {}, 400],
  ['what .NET and Go ask for', `${PATH}/`, ['amqp'], {}, 101],
  ['none', PATH, [], {}, 400],
  ['a foreign page', PATH, PROTOCOLS, { origin: 'https://evil.example' }, 403],
  ['a page of no origin', PATH, PROTOCOLS, { origin: 'null' }, 403],
  ['a page of this machine', PATH, PROTOCOLS, { origin: 'http://localhost:3000' }, 101],
] as const)('%s: %s', async (_what, path, protocols, options, status) => {
  const socket = socketTo(path, [...protocols], options)
  expect(await statusOf(socket)).toBe(status)
  expect(accepted).toHaveLength(status === 101 ? 1 : 0)
  socket.terminate()
})

test('a target in absolute form, as Java writes it', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `GET https://localhost:5300${PATH} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n' +
      'sec-websocket-protocol: amqp\r\n\r\n',
  )
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 101 [^]*sec-websocket-protocol: amqp/i)
  socket.destroy()
})

test('with keys that are secret pages of all origins may connect', async () => {
  isForLoopbackOnly = false
  const socket = socketTo(PATH, PROTOCOLS, { origin: 'https://shop.example' })
  expect(await statusOf(socket)).toBe(101)
  socket.terminate()
})

test('a message above the limit ends its connection, and no other', async () => {
  const [greedy, other] = [socketTo(PATH), socketTo(PATH)]
  await Promise.all([statusOf(greedy), statusOf(other)])
  for (const { stream } of accepted) stream.resume()
  const closed = once(greedy, 'close')
  greedy.send(Buffer.alloc(2 * 1024 * 1024))
  expect((await closed)[0]).toBe(1009)
  expect(other.readyState).toBe(WebSocket.OPEN)
  other.terminate()
})

test('frames that are broken end their connection', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `GET ${PATH} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n' +
      'sec-websocket-protocol: AMQPWSB10\r\n\r\n',
  )
  await once(socket, 'data')
  accepted[0]?.stream.resume()
  socket.on('error', () => {}).resume()
  socket.write(Buffer.alloc(64, 0xff))
  await once(socket, 'close')
  expect(accepted[0]?.stream.destroyed).toBe(true)
})
