import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import { send } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

const NEW_KEY = Buffer.alloc(64, 7).toString('base64')

test.each(['0.0.0.0', '::', '192.0.2.1', 'db.example', ''])(
  'plain http on %j is refused, and the message says what to do',
  async (host) => {
    await expect(testGateway({ host })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringMatching(/--tls-cert .*--insecure-http/),
    })
  },
)

test.each(['0.0.0.0', '::', 'db.localhost'])(
  'the emulator’s key is refused on %s, whatever is encrypted or allowed',
  async (host) => {
    const keys = { readWrite: [EMULATOR_KEY] }
    const refused = testGateway({ host, keys, tls: LOCALHOST_TLS, insecureHttp: true })
    await expect(refused).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  },
)

test.each([
  { readWrite: [TEST_KEY, EMULATOR_KEY] },
  { readWrite: [TEST_KEY], readOnly: [EMULATOR_KEY] },
  { readWrite: [TEST_KEY], readOnly: [NEW_KEY, EMULATOR_KEY] },
])('wherever the emulator’s key is among the keys, it keeps others out: %#', async (keys) => {
  const open = { host: '0.0.0.0', insecureHttp: true }
  const refused = { code: 'ERR_INVALID_OPTION' }
  await expect(testGateway({ ...open, keys })).rejects.toMatchObject(refused)
  await using started = await testGateway(open)
  const replace = (): void => started.gateway.replaceKeys(keys)
  expect(replace).toThrow(expect.objectContaining(refused))
})

test.each([{ tls: LOCALHOST_TLS }, { insecureHttp: true }])(
  'with TLS, or with a word, it listens on every address: %j',
  async (options) => {
    await using started = await testGateway({ host: '0.0.0.0', ...options })
    const { endpoint, address, port } = started.gateway
    expect(address).toBe(`0.0.0.0:${port}`)
    // That address is none that a client could connect to; the endpoint is.
    expect(new URL(endpoint).hostname).toBe('127.0.0.1')
  },
)

test('the address is where the socket listens, the endpoint one that answers', async () => {
  await using loopback = await testGateway()
  const { port } = loopback.gateway
  expect(loopback.gateway).toMatchObject({
    address: `127.0.0.1:${port}`,
    endpoint: `http://127.0.0.1:${port}/`,
  })
  await using everywhere = await testGateway({ host: '0.0.0.0', insecureHttp: true })
  expect((await send(everywhere.gateway.endpoint, 'GET', '/dbs')).status).toBe(200)
})
