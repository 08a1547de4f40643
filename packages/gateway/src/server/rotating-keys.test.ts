import { expect, test } from 'vitest'
import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import { rawRequest, rawSocket, received, send, sendRaw } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway, type TestGateway } from './running-gateway.fixture.ts'

const NEW_KEY = Buffer.from('the key that comes after the other').toString('base64')

async function statusWith({ gateway }: TestGateway, key: string): Promise<number> {
  return (await send(gateway.endpoint, 'GET', '/dbs', { key })).status
}

test('keys are replaced while the gateway runs: two count at a time, then the new one alone', async () => {
  await using started = await testGateway()
  const { gateway } = started
  expect([await statusWith(started, TEST_KEY), await statusWith(started, NEW_KEY)]).toEqual([
    200, 401,
  ])
  gateway.replaceKeys({ readWrite: [TEST_KEY, NEW_KEY] })
  expect([await statusWith(started, TEST_KEY), await statusWith(started, NEW_KEY)]).toEqual([
    200, 200,
  ])
  gateway.replaceKeys({ readWrite: [NEW_KEY] })
  expect([await statusWith(started, TEST_KEY), await statusWith(started, NEW_KEY)]).toEqual([
    401, 200,
  ])
})

test('a key that may only read from now on writes no more', async () => {
  await using started = await testGateway()
  const { endpoint } = started.gateway
  started.gateway.replaceKeys({ readWrite: [NEW_KEY], readOnly: [TEST_KEY] })
  expect(await statusWith(started, TEST_KEY)).toBe(200)
  expect((await send(endpoint, 'POST', '/dbs', { body: { id: 'made' } })).status).toBe(403)
})

test('a request that is being served is finished, though its key counts no more', async () => {
  await using started = await testGateway()
  const { port, endpoint } = started.gateway
  const body = JSON.stringify({ id: 'made' })
  const headers = { 'content-length': String(body.length), connection: 'close' }
  const socket = await rawSocket(port)
  socket.write(rawRequest('POST', '/dbs', { headers }) + body.slice(0, 3))
  // On the same event loop after it.
  expect((await send(endpoint, 'GET', '/dbs')).status).toBe(200)
  started.gateway.replaceKeys({ readWrite: [NEW_KEY] })
  socket.write(body.slice(3))
  expect(await received(socket)).toMatch(/^HTTP\/1.1 201 /)
  expect(await statusWith(started, TEST_KEY)).toBe(401)
})

test.each([[[]], [['short']], [[NEW_KEY, 'not base64 at all, but long enough!']]])(
  'keys %j are refused, and those in force stay',
  async (readWrite) => {
    await using started = await testGateway()
    const replace = (): void => started.gateway.replaceKeys({ readWrite })
    expect(replace).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
    expect([await statusWith(started, TEST_KEY), await statusWith(started, NEW_KEY)]).toEqual([
      200, 401,
    ])
  },
)

test('the emulator’s key cannot come in later where others reach the gateway', async () => {
  await using started = await testGateway({ host: '0.0.0.0', insecureHttp: true })
  const replace = (): void => started.gateway.replaceKeys({ readWrite: [EMULATOR_KEY] })
  expect(replace).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  expect(await statusWith(started, TEST_KEY)).toBe(200)
})

test('with it foreign names are refused, without it served again', async () => {
  await using started = await testGateway()
  const { gateway } = started
  const foreign = (key: string): Promise<string> => {
    const headers = { host: 'db.example', connection: 'close' }
    return sendRaw(gateway.port, rawRequest('GET', '/dbs', { key, headers }))
  }
  gateway.replaceKeys({ readWrite: [EMULATOR_KEY] })
  expect(await foreign(EMULATOR_KEY)).toMatch(/^HTTP\/1.1 403 /)
  gateway.replaceKeys({ readWrite: [NEW_KEY] })
  expect(await foreign(NEW_KEY)).toMatch(/^HTTP\/1.1 200 /)
})
