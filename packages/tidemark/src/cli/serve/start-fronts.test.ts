import { EMULATOR_KEY } from '@tidemark/gateway'
import { openMessaging } from '@tidemark/messaging'
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
