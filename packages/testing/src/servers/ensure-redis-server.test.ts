import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { ensureRedisServer } from './ensure-redis-server.ts'

const run = promisify(execFile)

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a REDIS_SERVER_BIN that is no Redis server is an error, not a reason to use another one', async () => {
  vi.stubEnv('REDIS_SERVER_BIN', '/bin/true')
  await expect(ensureRedisServer()).rejects.toThrow('REDIS_SERVER_BIN is set to /bin/true')
})

test('the server that is found runs', async () => {
  const { stdout } = await run(await ensureRedisServer(), ['--version'])
  expect(stdout).toMatch(/(redis|valkey) server/i)
})
