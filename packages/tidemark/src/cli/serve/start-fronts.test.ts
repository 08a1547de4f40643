import { once } from 'node:events'
import { EMULATOR_KEY } from '@tidemark/gateway'
import { openMessaging } from '@tidemark/messaging'
import rhea from 'rhea'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { openStore } from '../../open-store.ts'
import { startFronts } from './start-fronts.ts'

const SECRET_KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

/** The status of the answer to a page of another origin; 101: it is connected. */
async function statusForPage(port: number | undefined): Promise<number | undefined> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/$servicebus/websocket`, ['AMQPWSB10'], {
    origin: 'https://shop.example',
  })
  try {
    return await new Promise((resolve) => {
      socket.on('open', () => resolve(101))
      socket.on('unexpected-response', (_request, { statusCode }) => resolve(statusCode))
      socket.on('error', () => {})
    })
  } finally {
    socket.terminate()
  }
}

test('pages of other origins connect while the keys in force are secret, and no longer', async () => {
  await using store = await openStore(':memory:')
  await using broker = openMessaging(await store.createDatabaseIfNotExists('messages'))
  await using fronts = await startFronts({
    gateway: { store, port: 0, stopTimeoutMs: 50 },
    queues: { broker, amqpPort: 0, adminPort: undefined, isForTests: false, onFailure: () => {} },
    keys: { readWrite: [SECRET_KEY] },
    host: '127.0.0.1',
    tls: undefined,
    insecureHttp: undefined,
    maxConnections: undefined,
  })
  const port = fronts.gateway?.port
  expect(await statusForPage(port)).toBe(101)
  fronts.replaceKeys({ readWrite: [EMULATOR_KEY] })
  expect(await statusForPage(port)).toBe(403)
  fronts.replaceKeys({ readWrite: [SECRET_KEY] })
  expect(await statusForPage(port)).toBe(101)
})

test('a client that has shown a key over a WebSocket is no stranger to the gateway', async () => {
  await using store = await openStore(':memory:')
  await using broker = openMessaging(await store.createDatabaseIfNotExists('messages'))
  await using fronts = await startFronts({
    gateway: { store, port: 0, stopTimeoutMs: 50 },
    queues: { broker, amqpPort: 0, adminPort: undefined, isForTests: false, onFailure: () => {} },
    keys: { readWrite: [SECRET_KEY] },
    host: '127.0.0.1',
    tls: undefined,
    insecureHttp: undefined,
    maxConnections: 4,
  })
  const url = `ws://127.0.0.1:${fronts.gateway?.port}/$servicebus/websocket`
  const connect = rhea.websocket_connect(WebSocket)
  const logIn = async (password: string) => {
    const transport = connect(url, ['AMQPWSB10'], {})()
    const connection = rhea.create_container().connect({
      connection_details: () => ({ ...transport, host: '', port: 0 }),
      port: 0,
      username: 'RootManageSharedAccessKey',
      password,
      reconnect: false,
    })
    connection.on('disconnected', () => undefined)
    await once(connection, 'connection_open')
    return connection
  }
  const known = await logIn(SECRET_KEY)
  const strangers: WebSocket[] = []
  for (let count = 0; count < 3; count++) {
    const socket = new WebSocket(url, ['AMQPWSB10'])
    socket.on('error', () => {})
    await once(socket, 'open')
    strangers.push(socket)
  }
  // One address has 2 of the 4: each stranger ended the one before.
  await expect.poll(() => strangers.map(({ readyState }) => readyState)).toEqual([3, 3, 1])
  expect(known.is_open()).toBe(true)
  known.close()
  for (const socket of strangers) socket.terminate()
})
