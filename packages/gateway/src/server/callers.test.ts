import { expect, test } from 'vitest'
import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import { rawRequest, sendRaw } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

/* Web pages that have a browser call this machine under a name of their own ("DNS rebinding"). */

/** The status of a rightly signed request, as a browser would send it. */
async function statusFor(
  port: number,
  { key, ...headers }: { key: string; host?: string; origin?: string },
): Promise<{ readonly status: number; readonly body: string }> {
  const answer = await sendRaw(
    port,
    rawRequest('GET', '/dbs', { key, headers: { connection: 'close', ...headers } }),
  )
  return { status: Number(answer.slice(9, 12)), body: answer }
}

const FOREIGN = [
  { host: 'evil.example' },
  { host: 'evil.example:8081' },
  { host: 'localhost.evil.example' },
  { host: '0.0.0.0:8081' },
  { host: 'tidemark:8081' },
  { origin: 'http://evil.example' },
  { origin: 'https://localhost.evil.example:8081' },
  { origin: 'null' },
  { host: 'evil.example', origin: 'http://evil.example' },
]

test.each(FOREIGN)('with the emulator’s key a call to or from %j is 403', async (headers) => {
  await using started = await testGateway({ keys: { readWrite: [EMULATOR_KEY] } })
  const { status, body } = await statusFor(started.gateway.port, { key: EMULATOR_KEY, ...headers })
  expect(status).toBe(403)
  expect(body).toContain('a key of your own')
  expect(body).not.toContain(EMULATOR_KEY)
})

test.each([
  {},
  { host: '127.0.0.1:8081' },
  { host: '[::1]:8081' },
  { host: 'tidemark.localhost' },
  { origin: 'http://localhost:3000' },
])('with the emulator’s key a call to or from this machine is served: %j', async (headers) => {
  await using started = await testGateway({ keys: { readWrite: [EMULATOR_KEY] } })
  const call = { key: EMULATOR_KEY, ...headers }
  expect((await statusFor(started.gateway.port, call)).status).toBe(200)
})

test.each(FOREIGN)('with a key of its own the gateway serves any name: %j', async (headers) => {
  await using started = await testGateway()
  expect((await statusFor(started.gateway.port, { key: TEST_KEY, ...headers })).status).toBe(200)
})

test('a foreign name is refused before the signature is looked at, also for another key', async () => {
  const keys = { readWrite: [TEST_KEY, EMULATOR_KEY] }
  await using started = await testGateway({ keys })
  const host = 'evil.example'
  const unsigned = `GET /dbs HTTP/1.1\r\nconnection: close\r\nhost: ${host}\r\n\r\n`
  expect(await sendRaw(started.gateway.port, unsigned)).toMatch(/^HTTP\/1.1 403 /)
  expect((await statusFor(started.gateway.port, { key: TEST_KEY, host })).status).toBe(403)
})
