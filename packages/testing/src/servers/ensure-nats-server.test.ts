import { afterEach, expect, test, vi } from 'vitest'
import { ensureNatsServer } from './ensure-nats-server.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a NATS_SERVER_BIN that is no NATS server is an error, not a reason to use another one', async () => {
  vi.stubEnv('NATS_SERVER_BIN', '/bin/true')
  await expect(ensureNatsServer()).rejects.toThrow('NATS_SERVER_BIN is set to /bin/true')
})
